"""JavaScript that `notebook.Notebook` runs inside the page."""

# Focus a slider; from the next key press, wait for the first frame that shows another picture beside it.
WAIT_FOR_PICTURE = """([area, nth, slider, timeout]) => {
    const root = document.querySelectorAll(area)[nth];
    const input = root.querySelectorAll("input[type=range]")[slider];
    const cells = () => [...root.querySelectorAll("canvas")].map(canvas => canvas.toDataURL());
    const drawn = [...root.querySelectorAll(".explorer-panels, .strip")];
    const panels = () => drawn.map(({ innerHTML }) => innerHTML);
    const picture = () => [...panels(), ...cells()].join();
    const before = picture();
    input.focus();
    window.answered = new Promise(done => input.addEventListener("keydown", () => {
        const start = performance.now();
        const look = () => {
            const waited = performance.now() - start;
            if (picture() !== before) done(waited);
            else if (waited > timeout) done(null);
            else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
    }, { once: true }));
}"""

# Run all cells; `allRun` is true at their end.
RUN_ALL = """() => {
    window.allRun = false;
    void jupyterapp.commands.execute("notebook:run-all-cells").finally(() => { window.allRun = true; });
}"""

# Scroll to a cell and run it; `cellRun` is true at its end.
RUN_CELL = """async index => {
    const content = jupyterapp.shell.currentWidget.content;
    content.activeCellIndex = index;
    await content.scrollToItem(index);
    window.cellRun = false;
    void jupyterapp.commands.execute("notebook:run-cell").finally(() => { window.cellRun = true; });
}"""

# Write other code into a cell.
SET_SOURCE = """([index, source]) =>
    jupyterapp.shell.currentWidget.content.widgets[index].model.sharedModel.setSource(source)"""

# Add a code cell at the end, and return its index.
ADD_CELL = """source => {
    const content = jupyterapp.shell.currentWidget.content;
    content.model.sharedModel.addCell({ cell_type: "code", source });
    return content.widgets.length - 1;
}"""

# From when on cells can be run: the kernel of the page's session has answered.
READY = """() => {
    window.kernelReady = false;
    const context = jupyterapp.shell.currentWidget.sessionContext;
    void context.ready.then(async () => {
        await context.session.kernel.info;
        window.kernelReady = true;
    });
}"""

# What stands on the page, for the words of an error.
STATE = """() => {
    const context = jupyterapp.shell.currentWidget?.sessionContext, kernel = context?.session?.kernel;
    const prompts = [...document.querySelectorAll(".jp-InputPrompt")].map(p => p.innerText);
    const dialogs = [...document.querySelectorAll(".jp-Dialog")].map(d => d.innerText);
    return {kernel: kernel?.status, link: kernel?.connectionStatus,
            shown: context?.kernelDisplayStatus, pending: context?.pendingInput,
            terminating: context?.isTerminating, restarting: context?.isRestarting,
            prompts, dialogs};
}"""

# Bring an area to the top of the page, and wait until it has stood still for a third of a second.
SCROLL = """async root => {
    for (let still = 0, last = NaN, looks = 0; still < 3 && looks < 50; looks++) {
        root.scrollIntoView({ block: "start" });
        await new Promise(done => setTimeout(done, 100));
        const now = root.getBoundingClientRect().top;
        still = now === last ? still + 1 : 0;
        last = now;
    }
}"""

# The sliders of an area: their numbers, names and where they stand.
SLIDERS = """root => [...root.querySelectorAll("input[type=range]")].map((input, slider) => {
    const name = input.getAttribute("aria-label") ?? input.closest("label").firstChild.textContent;
    return {slider, name, now: Number(input.value), max: Number(input.max), disabled: input.disabled};
})"""

# Print the value of a Python expression in the kernel, and return it.
ASK = """async expression => {
    const { kernel } = jupyterapp.shell.currentWidget.sessionContext.session;
    const code = `import json\nprint(json.dumps(${expression}))`;
    const future = kernel.requestExecute({ code, store_history: false });
    let printed = "";
    future.onIOPub = ({ content }) => { printed += content.text ?? ""; };
    const { content } = await future.done;
    if (content.status !== "ok") throw new Error(`${content.ename}: ${content.evalue}`);
    return JSON.parse(printed);
}"""

# Note every drawing of every dashboard, how large each message to a widget is, and when each cell starts.
# Times are in ms since 1970, as the kernel's. A dashboard whose model trains is kept in sight.
RECORD = """() => {
    const boards = [], messages = [], asked = {}, started = {}, known = new Map(), frames = [];
    const now = () => performance.timeOrigin + performance.now(), { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { for (const drawing of frames.splice(0)) drawing.t = now(); };
    const { content: sheet, sessionContext } = jupyterapp.shell.currentWidget;
    const size = message => ["header", "parent_header", "metadata", "content"].reduce(
        (sum, part) => sum + JSON.stringify(message[part]).length,
        (message.buffers ?? []).reduce((sum, { byteLength }) => sum + byteLength, 0));
    sessionContext.session.kernel.anyMessage.connect((_, { msg, direction }) => {
        const { header: { msg_type: type, msg_id: id }, parent_header: parent } = msg;
        if (type === "execute_request") asked[id] = msg.metadata.cellId;
        if (type === "execute_input" && asked[parent.msg_id]) started[asked[parent.msg_id]] = now();
        if (type === "comm_msg" && direction === "recv") messages.push([now(), size(msg)]);
    });
    const follow = (board, root) => {
        const code = sheet.widgets.filter(({ model }) => model.type === "code");
        const cell = code.findIndex(({ node }) => node.contains(root)), { title, watches } = board.run.facts;
        const record = { cell, title, watches, started: started[code[cell]?.model.id] ?? null, drawings: [] };
        const note = ms => {
            const { head, made, frames: measured } = board.run, { at, state, reading } = head;
            const counts = { made, frames: measured.map(({ length }) => length) };
            const drawing = { t: now(), ms, at: 1000 * at, state, reading, ...counts };
            for (const list of [record.drawings, frames]) list.push(drawing);
            port2.postMessage(0);
        };
        const { paint } = board;
        board.paint = frame => {
            const before = board.painted, begin = performance.now();
            paint.call(board, frame);
            if (board.painted !== before) note(performance.now() - begin);
        };
        if (board.painted) note(0);
        known.set(board, root);
        boards.push(record);
    };
    const look = () => {
        for (const root of document.querySelectorAll(".babygpt-dashboard")) {
            if (root.board && !known.has(root.board)) follow(root.board, root);
        }
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
    setInterval(() => {
        const root = [...known].find(([{ run }]) => /ready|running/.test(run.head.state))?.[1];
        const { top, bottom } = root?.getBoundingClientRect() ?? {};
        if (top < 0 || bottom > innerHeight) root.scrollIntoView({ block: "start" });
    }, 200);
    look();
    window.recorded = { boards, messages };
}"""

# A handle of an explorer that the page computes, now and some stops further on: where it stands, and
# what the explorer then shows. `root` is the explorer.
ENDS = """async (root, [nth, stops]) => {
    const knob = root.querySelectorAll(".handle")[nth], name = knob.getAttribute("aria-label");
    const rows = [...root.querySelectorAll("label")];
    const input = rows.find(row => row.firstChild.textContent === name).querySelector("input");
    const before = Number(input.value), further = before + stops > input.max ? -stops : stops;
    knob.scrollIntoView({ block: "center" });
    const look = async value => {
        input.value = value;
        input.dispatchEvent(new Event("input"));
        await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
        const { x, y, width, height } = knob.lastElementChild.getBoundingClientRect();
        const values = rows.map(row => (row.querySelector("select") ?? row.querySelector("output")).value);
        const matrices = [...root.querySelectorAll("canvas")].map(canvas => canvas.toDataURL());
        const picture = [root.querySelector(".explorer-panels").innerHTML, ...matrices].join();
        return { place: [x + width / 2, y + height / 2], values, picture };
    };
    const then = await look(before + further);
    return { name, now: await look(before), then };
}"""

# Note the milliseconds from each move of a hand that drags to the end of the frame that shows a handle of the
# explorer elsewhere.
FRAMES = """root => {
    window.frames_ms = [];
    const knobs = [...root.querySelectorAll(".handle")];
    const places = () => knobs.map(knob => knob.getAttribute("transform")).join();
    root.onpointermove = ({ timeStamp, buttons }) => {
        if (!buttons) return;
        const before = places(), channel = new MessageChannel();
        const next = () => requestAnimationFrame(() => channel.port2.postMessage(0));
        channel.port1.onmessage = () => {
            const now = performance.now();
            if (places() === before) next();
            else window.frames_ms.push(now - timeStamp);
        };
        next();
    };
}"""
