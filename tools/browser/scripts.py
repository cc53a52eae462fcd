"""JavaScript that `notebook.Notebook` runs inside the page."""

# Focus a slider; from the next key press, wait for another picture, decoded and in a frame.
WAIT_FOR_PICTURE = """([area, nth, slider, timeout]) => {
    const root = document.querySelectorAll(area)[nth];
    const before = root.querySelector("img").src;
    let start = null;
    root.addEventListener("keydown", () => { start = performance.now(); }, { capture: true, once: true });
    root.querySelectorAll(".noUi-handle")[slider].focus();
    window.answered = new Promise(done => {
        const watch = new MutationObserver(async () => {
            const image = root.querySelector("img");
            if (start === null || !image || image.src === before) return;
            watch.disconnect();
            await image.decode().catch(() => null);  // yet another picture has come meanwhile
            requestAnimationFrame(() => done(performance.now() - start));
        });
        watch.observe(root, { subtree: true, childList: true, attributes: true, attributeFilter: ["src"] });
        setTimeout(() => done(null), timeout);
    });
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
SLIDERS = """root => [...root.querySelectorAll(".noUi-handle")].map((handle, slider) => {
    const box = handle.closest(".widget-inline-hbox");
    const [now, max] = ["now", "max"].map(end => Number(handle.getAttribute(`aria-value${end}`)));
    const name = handle.getAttribute("aria-label") ?? box?.querySelector(".widget-label")?.innerText ?? "";
    return {slider, name, now, max, disabled: Boolean(handle.closest(".noUi-target[disabled]"))};
})"""

# Note when the picture or the words of a dashboard change, whenever it appears; a picture as a digest of its
# bytes, as two that look alike have different addresses.
RECORD = """() => {
    window.recorded = [];
    const known = new Map();
    const sheet = jupyterapp.shell.currentWidget.content;
    const place = root => sheet.widgets.filter(cell => cell.model.type === "code")
        .findIndex(cell => cell.node.contains(root));
    const words = root => [...root.querySelectorAll("b")].map(bold => bold.parentElement.textContent)
        .find(text => /step \\d+ of \\d+/.test(text)) ?? "";
    const digest = async src => {
        try {
            const bytes = await (await fetch(src)).arrayBuffer();
            const hash = new Uint8Array(await crypto.subtle.digest("SHA-1", bytes));
            return [...hash].map(byte => byte.toString(16).padStart(2, "0")).join("");
        } catch { return src.slice(-60); }  // it is gone already: another one has come
    };
    const look = () => {
        const t = performance.now();
        for (const root of document.querySelectorAll(".babygpt-dashboard")) {
            if (!known.has(root)) known.set(root, {number: known.size, cell: place(root), src: "", said: ""});
            const last = known.get(root), image = root.querySelector("img.widget-image");
            const src = image?.getAttribute("src") ?? "", said = words(root);
            if (src === last.src && said === last.said) continue;
            const event = {t, dashboard: last.number, cell: last.cell, alt: image?.alt ?? "", words: said};
            const picture = src && src !== last.src ? digest(src) : null;
            window.recorded.push(Promise.resolve(picture).then(found => ({...event, picture: found})));
            Object.assign(last, {src, said});
        }
    };
    const kinds = {subtree: true, childList: true, characterData: true, attributeFilter: ["src"]};
    new MutationObserver(look).observe(document.body, kinds);
    look();
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
