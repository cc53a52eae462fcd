"""Dashboard of a run, which the kernel keeps up to date in the page; and `train`, which shows one.

The page holds a run as parts of its widget's state. `facts` never change. `loss0`, `loss1`, ... are blocks of
losses; only the last one is sent again as it grows. `frame{i}_{k}` is the k-th measurement of watch i, and
`panel{i}` the newest panel of a watch over steps. `before` has the losses of a baseline that went on after
`facts` were sent, and `moves` has the moves of dials. `head` tells how many losses and frames there are, so
that a page that lacks a part knows it, and asks. A new page, or a reloaded one, gets all parts at once.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anywidget
import numpy as np
import traitlets
from IPython.display import display

from babygpt.config import TrainConfig
from babygpt.device import device_name, use_allowed_threads
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import Objective
from babygpt.training.guard import require_vocabulary
from babygpt_live.explorer import Range, format_number, still_of
from babygpt_live.figures import running_mean
from babygpt_live.panel import Axis, Curve, Level, Mark, Panel, as_plain, pack
from babygpt_live.run import LoopRun, Run, State
from babygpt_live.style import COLOURS, ENCODING_COLOURS, ENCODINGS
from babygpt_live.view import PAGE, LiveOutput, Still, script, style
from babygpt_live.watch import Watch

BLOCK = 256  # losses in a part
RATE = 20.0  # messages on steps a second, at most; changes of state and answers to commands leave at once
SMOOTH = 10  # steps in a point of the smooth curve
# Names of moves of dials overlap on the timeline where a run has more than about twelve.
MOST_MOVES = 12


def train(
    model: LanguageModel,
    objective: Objective,
    config: TrainConfig,
    title: str = "model",
    floors: Mapping[str, float] | None = None,
    watches: Sequence[Watch] = (),
    controls: Sequence[Range] = (),
    baseline: Run | None = None,
) -> Run:
    """Start to train a model in the background, show its dashboard, and return at once.

    One model trains at a time. A second run waits for the first; its dashboard shows that, and offers to stop
    the first.

    model      trained in place, on the best device or on BABYGPT_DEVICE; then moved back to where it was
    objective  draws the batches and computes their loss
    config     steps, batch size, learning rates, seed
    title      of the model
    floors     name -> a loss that no model can pass, nats per character
    watches    measured and drawn beside the loss
    controls   sliders and scales named like numbers of the model's encoding, such as theta: they steer it
    baseline   an earlier run, drawn behind the loss in grey, or in blue behind a grey one, with the gap to it
    returns    the run; `run.result()` waits for it
    Raises BadInput if a control's name is no number of the encoding, or the model does not know all tokens of
    the text, and the errors of a watch that cannot measure this model.
    """
    use_allowed_threads()  # The cell's thread calls it, so that work beside the run gains too.
    require_vocabulary(model, objective)
    run = Run(model, objective, config, title, watches)
    earlier = list(Run.unfinished)
    if not any(earlier_run.is_training(model) for earlier_run in earlier):
        run.measure_untrained(model)
    run.baseline = baseline
    show_dashboard(run, floors, controls, earlier)
    run.start_after(earlier)
    return run


def show_dashboard(
    run: LoopRun,
    floors: Mapping[str, float] | None = None,
    controls: Sequence[Range] = (),
    earlier: Sequence[Run] = (),
) -> None:
    """Show the dashboard of a run, which follows its records from now on.

    floors    name -> a loss that no model can pass, in the run's unit
    controls  sliders and scales named like what `run.steer` takes
    earlier   runs that must end before this one begins
    Raises BadInput if a control's name is none of these numbers.
    """
    for control in controls:
        run.require_number(control.name)
    run.dashboard = Dashboard(run, floors or {}, controls, earlier)
    display(run.dashboard)


class DashboardWidget(anywidget.AnyWidget):
    """The page's side of a dashboard. Parts of the run that were sent stay in the page until it is closed.

    facts       that never change
    everything  returns all parts of the run
    """

    _css = style(PAGE / "figure.css")
    facts = traitlets.Dict().tag(sync=True)

    def __init__(self, facts: Mapping[str, Any], everything: Callable[[], dict[str, Any]]) -> None:
        self.everything = everything
        super().__init__(facts=facts, _esm=script(PAGE / "dashboard.js"))

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the state, for a page that knows nothing with all parts of the run.

        key  names of traits, or parts of the run, which `send_state` sends as they are, from any thread
        """
        if isinstance(key, Mapping):
            return dict(key)
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        return state | self.everything() if key is None else state


class Dashboard(LiveOutput):
    """View of a run, which it listens to; it tells the page what is new, from the trainer's thread.

    run       to show
    floors    name -> a loss that no model can pass
    controls  named like numbers of the model's encoding: they steer it
    earlier   runs that must end before this one begins; the trainer takes out those that have ended
    """

    def __init__(
        self,
        run: LoopRun,
        floors: Mapping[str, float],
        controls: Sequence[Range],
        earlier: Sequence[Run] = (),
    ) -> None:
        self.run, self.floors, self.earlier = run, dict(floors), earlier
        self.labels = {control.name: (control.label or control.name).split(" (")[0] for control in controls}
        self.frames: list[list[dict[str, Any]]] = [[] for _ in run.frames]
        self.newest: list[Panel | None] = [None for _ in run.frames]
        self.heard = 0  # number of the page's last command
        self.problem = ""  # why that command failed
        self.panel_problem = ""  # why a panel could not be made; it stays
        self.sent = 0  # losses that the page has
        self.sent_frames = [0] * len(self.frames)  # frames that it has, for each watch
        self.baseline_at_first = len(run.baseline.history) if run.baseline else 0  # its losses in the facts
        self.sent_baseline = self.baseline_at_first  # its losses that the page has
        self.due, self.lock = 0.0, threading.Lock()
        self.moved = dict[int, dict[str, float]]()  # step -> values of the dials that were moved
        self.collected = 0  # steps of the run that `collect` has read
        self.collect()
        self.facts = self.facts_of(controls)
        self.page = DashboardWidget(self.facts, self.everything)
        words = f"training: {run.title}"
        super().__init__(self.page, f"<{words}>", lambda: self.draw_picture(words))
        self.page.add_class("babygpt-dashboard")  # Tests and your own style sheet find it by this class.
        self.page.on_msg(self.obey)
        run.listeners.append(self.update)

    def facts_of(self, controls: Sequence[Range]) -> dict[str, Any]:
        """Return the facts of the run that the page needs from the start."""
        run, baseline = self.run, self.run.baseline
        facts = {
            "title": run.title,
            "loss": as_plain(loss_panel(self, 0)),
            "levels": self.levels(),
            "words": loss_words(run.title, run.unit),
            "watches": len(self.newest),
            "controls": [control.facts() for control in controls],
            "total": run.total,
            "smooth": SMOOTH,
            "baseline": None,
        }
        if baseline is not None:
            losses = np.array([step.loss for step in baseline.history[: self.baseline_at_first]])
            facts["baseline"] = {
                "losses": pack(losses),
                "total": baseline.total,
                "words": gap_words(baseline.title, run.unit),
            }
        return facts

    def levels(self) -> list[float]:
        """Return the losses that the axis has to reach: of uniform guesses, and the floors."""
        return [self.run.uniform_loss, *self.floors.values()]

    # ------------------------------------------------------------ what is told

    def collect(self) -> None:
        """Make panels of the measurements that are new, and note which dials have moved."""
        for step in self.run.history[self.collected :]:
            self.collected += 1
            if step.changed:
                close_steps = (
                    begin for begin in self.moved if step.step - begin < self.run.total / MOST_MOVES
                )
                begin = next(close_steps, step.step)
                self.moved[begin] = self.moved.get(begin, {}) | step.changed
        for i, (watch, frames) in enumerate(self.run.frames.items()):
            while len(self.frames[i]) < len(frames):
                upto = frames[: len(self.frames[i]) + 1]
                self.newest[i] = panel = watch.panel(upto, self.run.title, self.run.total)
                frame = {"title": panel.title} if panel.over_steps else {"panel": as_plain(panel)}
                self.frames[i].append({"step": upto[-1][0], **frame})

    def head(self) -> dict[str, Any]:
        """Return the facts that change with every message, and the number of parts."""
        run = self.run
        titles = [earlier_run.title for earlier_run in self.earlier]
        awaited = " and ".join(titles) if run.state is State.WAITING else ""
        return {
            "at": time.time(),
            "made": len(run.history),
            "frames": [len(frames) for frames in self.frames],
            "state": str(run.state),
            "over": run.state.over,
            "words": status_words(run, awaited),
            "device": f"trains on {device_name(run.device)}" if run.device else "",
            "offer": awaited and f"stop {awaited}, start this one",
            "reading": validation_words(run),
            "values": dict(run.steered),
            "heard": self.heard,
            "problem": self.problem or self.panel_problem,
        }

    def moves(self) -> list[tuple[int, str]]:
        """Return the steps at which dials were moved, with the last value of each that moved soon after."""
        return [
            (
                begin,
                ", ".join(f"{self.labels.get(name, name)} {format_number(x)}" for name, x in values.items()),
            )
            for begin, values in self.moved.items()
        ]

    def parts(self, losses: int, frames: Sequence[int], baseline_losses: int) -> dict[str, Any]:
        """Return the head, and all that is new to a page.

        losses           number of losses that the page has
        frames           number of frames that the page has, for each watch
        baseline_losses  number of losses of the baseline that the page has
        """
        head, state = self.head(), dict[str, Any]()
        for number in range(losses // BLOCK, -(-head["made"] // BLOCK)):
            steps = self.run.history[number * BLOCK : min(head["made"], (number + 1) * BLOCK)]
            state[f"loss{number}"] = pack(np.array([step.loss for step in steps]))
        for i, (n_sent, n_frames) in enumerate(zip(frames, head["frames"], strict=True)):
            state |= {f"frame{i}_{k}": self.frames[i][k] for k in range(n_sent, n_frames)}
            newest = self.newest[i]
            if n_frames > n_sent and newest is not None and newest.over_steps:
                state[f"panel{i}"] = as_plain(newest)
        baseline = self.run.baseline
        if baseline is not None and len(baseline.history) > baseline_losses:  # It was training meanwhile.
            state["before"] = pack(np.array([step.loss for step in baseline.history]))
        return {**state, "moves": self.moves(), "head": head}

    def everything(self) -> dict[str, Any]:
        """Return all parts."""
        return self.parts(0, [0] * len(self.frames), self.baseline_at_first)

    def update(self, at_once: bool) -> None:
        """Tell what is new, now or when it is due. Raises the error of a panel, after the page was told."""
        now, failure = time.monotonic(), None
        if not at_once and now < self.due:
            return
        with self.lock:
            # Messages leave at RATE on average, however long a step takes.
            self.due = max(self.due + 1 / RATE, now)
            try:
                self.collect()
            except Exception as error:
                failure, self.panel_problem = error, f"a panel failed: {type(error).__name__}: {error}"
            parts = self.parts(self.sent, self.sent_frames, self.sent_baseline)
            self.sent, self.sent_frames = parts["head"]["made"], parts["head"]["frames"]
            if "before" in parts:
                (self.sent_baseline,) = parts["before"]["shape"]
            self.page.send_state(parts)
        if self.run.state.over:
            self.show_still(update=True)
        if failure is not None:
            raise failure

    # ------------------------------------------------------------ what the page asks for

    def obey(self, _: Any, command: Mapping[str, Any], buffers: Any) -> None:
        """Do what a button or a dial of the page asks for, and tell that it was heard."""
        self.heard, self.problem = command.get("number", self.heard), ""
        run, action = self.run, command.get("do")
        if action == "steer":
            try:
                run.steer(command["name"], float(command["value"]))
            except ValueError as error:  # A learner's own encoding need not know BadInput.
                self.problem = str(error)
        elif action == "stop_earlier":
            for earlier_run in tuple(self.earlier):
                earlier_run.stop()
        elif action == "resend":  # a page that was reloaded may have missed what came meanwhile
            self.sent, self.sent_frames = 0, [0] * len(self.frames)
            self.sent_baseline = self.baseline_at_first
        elif action in ("pause", "resume", "stop"):
            getattr(run, action)()
        self.update(at_once=True)

    # ------------------------------------------------------------ for readers without a kernel

    def panels(self) -> list[Panel]:
        """Return the run as it is now, with the moves of dials: losses, and what the watches see.

        Only the legend of the losses names the moves.
        """
        losses = loss_panel(self, len(self.run.history))
        watched = [panel for panel in self.newest if panel]
        names = [f"{words} from step {step}" for step, words in self.moves()]
        return [self.with_moves(losses, names), *map(self.with_moves, watched)]

    def draw_picture(self, words: str) -> Still:
        """Return the run as a still: what is watched, and below it the losses as a strip."""
        losses, *watched = self.panels()
        return still_of(watched, words, losses) if watched else still_of([losses], words)

    def with_moves(self, panel: Panel, names: Sequence[str] = ()) -> Panel:
        """Return a panel with an upright line at each move of a dial, if its x counts steps.

        names  of the moves; by default the lines have none
        """
        moves = self.moves() if panel.over_steps else []
        names = names or [""] * len(moves)
        levels = [Level(name, step, "x") for (step, _), name in zip(moves, names, strict=True)]
        return replace(
            panel, marks=[*panel.marks, *levels], below=panel.below and self.with_moves(panel.below)
        )

    def recording(self) -> dict[str, Any]:
        """Return the whole run as plain data, for a page without a kernel."""
        return {"facts": self.facts, **self.everything()}


# ------------------------------------------------------------ losses as panels

# dashboard.js draws the same two panels from the same losses. The page needs its version because it scrubs
# through recordings in the book without Python, and because the lab trains in the page; this version is for
# stills, which have no page. Finished panels cannot replace the losses in messages, because each panel holds
# all earlier steps: after 2,000 steps it would be 32 kB, 20 times a second, and a finding for every step.


def loss_words(title: str, unit: str) -> dict[str, str]:
    """Return the findings on a loss: the page fills in the numbers.

    unit  of the loss, such as "nats per character", or nothing
    """
    short_unit = unit and f" {shorten_unit(unit)}"
    return {
        "untrained": f"{title} is untrained: each step adds its loss here",
        "trained": f"{title}: the loss is {{loss}}{short_unit} at step {{step}}",
    }


def gap_words(title: str, unit: str) -> dict[str, str]:
    """Return the findings on a gap to a baseline: the page fills in the numbers."""
    short_unit = unit and f" {shorten_unit(unit)}"
    return {
        "unknown": f"gap to {title}" + (unit and f" ({shorten_unit(unit)})"),
        "none": f"less than 0.01{short_unit} from {title}",
        "below": f"{{gap}}{short_unit} below {title}",
        "above": f"{{gap}}{short_unit} above {title}",
    }


def shorten_unit(unit: str) -> str:
    """Return a unit without what it is counted for: "nats" for "nats per character"."""
    return unit.split(" per ")[0]


def write_loss(loss: float, decimals: int = 2) -> str:
    """Write a loss with some decimals, or with three digits where these decimals would all be 0."""
    words = f"{loss + 0.0:.{decimals}f}"
    if loss and not float(words):
        words = f"{loss:.3g}" if abs(loss) >= 1e-4 else re.sub("e-0?", "e-", f"{loss:.2e}")
    return words.replace("-", "−")


def loss_span(levels: Sequence[float], mean: np.ndarray) -> tuple[float, float]:
    """Return the ends of the axis of losses: 0 and a little more than the levels and the first losses.

    Losses that leave these ends, or that would lie flat in their lowest tenth, have an axis of their own.

    levels  that the axis has to reach
    mean    (n,) running mean of the losses
    """
    first, finite = (losses[np.isfinite(losses)] for losses in (mean[:20], mean))
    usual = float(np.ceil(max(0.25, *levels, first.max(initial=0.0)) * 2.05) / 2)
    low = float(min(0.0, *levels, finite.min(initial=0.0)))
    high = float(max(0.0, *levels, finite.max(initial=0.0)))
    fits = low == 0 and high <= usual and (high == 0 or high >= usual / 10)
    return (0.0, usual) if fits else round_out(low, high)


def round_out(low: float, high: float) -> tuple[float, float]:
    """Return two round numbers around `low` and `high`, which differ."""
    step = 10.0 ** np.floor(np.log10(high - low)) / 2
    return float(np.floor(low / step) * step), float(np.ceil(high / step) * step)


def loss_panel(board: Dashboard, n_steps: int) -> Panel:
    """Return the losses of the first `n_steps` steps with the floors, and the gap to a baseline below."""
    run, losses = board.run, [step.loss for step in board.run.history[:n_steps]]
    steps, mean = running_mean(losses, SMOOTH)
    words = loss_words(run.title, run.unit)
    title = words["untrained"]
    if losses:
        title = words["trained"].format(loss=write_loss(mean[-1]), step=n_steps)
    marks: list[Mark] = []
    colour = ENCODING_COLOURS.get(run.title, COLOURS["blue"])
    if (baseline := run.baseline) is not None:
        earlier = running_mean([step.loss for step in baseline.history], SMOOTH)
        behind = baseline_colour(run.title, baseline.title)
        marks.append(Curve(f"{baseline.title} (baseline)", behind, earlier[1], earlier[0]))
    smooth = f"{run.title}, mean of {SMOOTH} steps"  # it makes a leap a ramp; the thin line has each step
    marks += [Curve("", colour, np.array(losses), steps, "thin"), Curve(smooth, colour, mean, steps)]
    marks += [Level(f"{name} {floor:.3g}", floor) for name, floor in board.floors.items()]
    span = loss_span(board.levels(), mean)
    small = span[1] - span[0] < 0.5  # Two decimals would not tell such losses apart.
    return Panel(
        title,
        marks,
        Axis("step", (0.0, run.total), digits=0),
        Axis(f"loss ({run.unit})" if run.unit else "loss", span, digits=None if small else 2),
        over_steps=True,
        below=gap_panel(run, baseline, n_steps, small) if baseline else None,
    )


def baseline_colour(title: str, baseline: str) -> str:
    """Return the colour of a baseline's curve: of its encoding, or grey if the run has this encoding too."""
    colours = [ENCODING_COLOURS.get(name) for name in (title, baseline)]
    if None not in colours and colours[0] != colours[1]:
        return ENCODING_COLOURS[baseline]
    return COLOURS["blue" if colours[0] == ENCODINGS["none"] else "grey"]  # the two must differ


def gap_panel(run: LoopRun, baseline: LoopRun, n_steps: int, small: bool) -> Panel:
    """Return the gap between two smooth losses over the steps.

    small  whether the losses are, so that gaps below 0.01 count
    """
    histories = run.history[:n_steps], baseline.history[:n_steps]
    means = [running_mean([step.loss for step in history], SMOOTH)[1] for history in histories]
    length = min(map(len, means))  # A baseline may have made fewer steps.
    gap, words = means[0][:length] - means[1][:length], gap_words(baseline.title, run.unit)
    newest = gap[-1] if length else np.nan
    size = write_loss(abs(newest)) if small else f"{abs(newest):.2f}"
    kind = "below" if newest < 0 else "above"
    if size in ("0.00", "nan"):
        kind = "none" if size == "0.00" else "unknown"
    title = words[kind].format(gap=size)
    finite = gap[np.isfinite(gap)]
    low = float(np.floor(20 * finite.min(initial=-0.05)) / 20)
    high = float(np.ceil(20 * finite.max(initial=0.05)) / 20)
    if small and finite.any():
        low, high = round_out(float(finite.min(initial=0.0)), float(finite.max(initial=0.0)))
    marks: list[Mark] = [Curve("", COLOURS["red"], gap, np.arange(1.0, length + 1)), Level("", 0.0)]
    x = Axis("step", (0.0, run.total), digits=0)
    return Panel(
        title,
        marks,
        x,
        Axis(
            f"gap ({shorten_unit(run.unit)})" if run.unit else "gap", (low, high), digits=None if small else 2
        ),
        over_steps=True,
    )


def recent_loss(run: LoopRun) -> float:
    """Return the mean loss of the last steps: the end of the smooth curve."""
    return float(running_mean([step.loss for step in run.history[-SMOOTH:]], SMOOTH)[1][-1])


def validation_words(run: LoopRun) -> str:
    """Return how far a validation has come, or nothing."""
    if run.validating is None:
        return ""
    return "{}: {:,} of {:,} validation windows read".format(run.title, *run.validating)


def status_words(run: LoopRun, awaited: str) -> str:
    """Describe what a run does, in a few words: its steps and its loss stand elsewhere.

    awaited  titles of the runs that it waits for, or nothing
    """
    n_steps = len(run.history)
    # The seconds that are left already say that it runs.
    under_way = run.state is State.RUNNING and run.history
    words = [] if under_way else [f"{run.state}{awaited and f' for {awaited}'}"]
    if run.history:
        last = run.history[-1]
        if last.val_loss is not None:
            words.append(f"validation {write_loss(last.val_loss, 3)}")
        seconds_to_go = last.seconds / n_steps * (run.total - n_steps)
        if counts := run.validating:
            words.append("validating {:,} of {:,} windows".format(*counts))
        elif run.state.over:
            words.append(f"{last.seconds:.0f} s")
        elif run.state is State.RUNNING:
            words.append(f"about {seconds_to_go:.0f} s left")
    if run.error is not None:
        words.append(f"{type(run.error).__name__}: {run.error}")
    return " · ".join(words)
