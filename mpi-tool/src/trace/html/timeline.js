"use strict";
// Draws the time lines, and lets the reader zoom and move. Text gets into the page as text only.
(() => {
  const trace = JSON.parse(document.getElementById("mpi-tool-trace").textContent);
  const canvas = document.getElementById("canvas");
  const pointed = document.getElementById("pointed");
  const paint = canvas.getContext("2d");

  // Kinds of functions, each with a colour. What a call is, the line below the picture says, too.
  const kinds = [
    ["sends", "#4c8dd6", /send(?!recv)|rsend|bsend/i],
    ["receives", "#e39a3b", /recv|probe/i],
    ["waits for requests", "#c9554f", /wait|test/i],
    ["collective operations", "#8a63c4", /bcast|barrier|reduce|gather|scatter|alltoall|scan/i],
    ["one-sided", "#3f9d7a", /_put|_get$|_get_acc|win_|accumulate|fetch_and_op|compare_and_swap|rput|rget/i],
    ["files", "#b2904a", /file/i],
    ["other", "#8b95a1", /./],
  ];
  const kindOf = trace.functions.map((name) => kinds.findIndex(([, , pattern]) => pattern.test(name)));
  const legend = document.getElementById("legend");
  for (const kind of new Set([...kindOf].sort())) {
    const item = document.createElement("span");
    const colour = document.createElement("i");
    colour.style.background = kinds[kind][1];
    item.append(colour, kinds[kind][0]);
    legend.append(item);
  }

  const lanes = trace.lanes.map(({ name, calls }) => {
    let begin = 0;
    return {
      name,
      calls: calls.map(([after, length, called, bytes, peer, site]) => {
        begin += after;
        return { begin, end: begin + length, called, bytes: bytes ?? 0, peer: peer ?? null, site: trace.sites[site] };
      }),
    };
  });
  const whole = Math.max(1, trace.end);
  let from = 0;
  let to = whole;
  const margin = 56;
  const axis = 22;
  const laneHeight = () => Math.max(2, Math.min(26, 620 / lanes.length));
  const width = () => canvas.clientWidth;
  const height = () => axis + laneHeight() * lanes.length;
  const x = (time) => margin + ((time - from) / (to - from)) * (width() - margin);
  const timeAt = (at) => from + ((at - margin) / (width() - margin)) * (to - from);

  const seconds = (time) => {
    if (Math.abs(time) >= 1e9) return (time / 1e9).toFixed(6) + " s";
    if (Math.abs(time) >= 1e6) return (time / 1e6).toFixed(4) + " ms";
    return (time / 1e3).toFixed(3) + " µs";
  };

  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();

  // The first call that ends behind a time; calls inside of others may come before it, so some more are looked at.
  const firstBehind = (calls, time) => {
    let low = 0;
    let high = calls.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (calls[middle].begin < time) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 16);
  };

  const draw = () => {
    const scale = window.devicePixelRatio || 1;
    canvas.style.height = height() + "px";
    canvas.width = Math.round(width() * scale);
    canvas.height = Math.round(height() * scale);
    paint.setTransform(scale, 0, 0, scale, 0, 0);
    paint.fillStyle = colour("--ground");
    paint.fillRect(0, 0, width(), height());
    paint.font = "12px system-ui, sans-serif";
    paint.textBaseline = "middle";
    const step = 10 ** Math.floor(Math.log10((to - from) / 4));
    const unit = (to - from) / step > 20 ? step * 5 : (to - from) / step > 8 ? step * 2 : step;
    paint.strokeStyle = colour("--line");
    paint.fillStyle = colour("--dim");
    for (let time = Math.ceil(from / unit) * unit; time <= to; time += unit) {
      paint.beginPath();
      paint.moveTo(x(time), 0);
      paint.lineTo(x(time), height());
      paint.stroke();
      paint.fillText(seconds(time), x(time) + 3, axis / 2);
    }
    const tall = laneHeight();
    const names = Math.ceil(14 / tall);
    lanes.forEach((lane, number) => {
      const top = axis + number * tall;
      paint.fillStyle = colour("--dim");
      if (number % names === 0) paint.fillText(lane.name, 4, top + Math.max(tall, 14) / 2, margin - 8);
      let drawn = -1;
      for (let at = firstBehind(lane.calls, from); at < lane.calls.length; at++) {
        const call = lane.calls[at];
        if (call.begin > to) break;
        const left = Math.max(margin, x(call.begin));
        const right = Math.min(width(), x(call.end));
        if (right < margin || right <= drawn) continue;
        const wide = Math.max(1, right - left);
        drawn = wide <= 1 ? left + 1 : -1;
        paint.fillStyle = kinds[kindOf[call.called]][1];
        paint.fillRect(left, top + 1, wide, Math.max(1, tall - 2));
        if (wide > 60 && tall > 13) {
          paint.save();
          paint.beginPath();
          paint.rect(left, top, wide - 2, tall);
          paint.clip();
          paint.fillStyle = "#10151b";
          paint.fillText(trace.functions[call.called], left + 3, top + tall / 2);
          paint.restore();
        }
      }
    });
    const inView = trace.messages.filter(([, sent, , arrived]) => arrived >= from && sent <= to);
    paint.strokeStyle = colour("--ink");
    paint.lineWidth = 1;
    for (const [source, sent, target, arrived] of inView.slice(0, 4000)) {
      const start = [x(sent), axis + (source + 0.5) * tall];
      const end = [x(arrived), axis + (target + 0.5) * tall];
      if (start[0] < margin && end[0] < margin) continue;
      paint.beginPath();
      paint.moveTo(...start);
      paint.lineTo(...end);
      const angle = Math.atan2(end[1] - start[1], end[0] - start[0]);
      for (const side of [-0.4, 0.4]) {
        paint.moveTo(...end);
        paint.lineTo(end[0] - 7 * Math.cos(angle + side), end[1] - 7 * Math.sin(angle + side));
      }
      paint.stroke();
    }
  };

  const show = (next, last) => {
    const length = Math.min(whole, Math.max(20, last - next));
    from = Math.min(Math.max(0, next), whole - length);
    to = from + length;
    requestAnimationFrame(draw);
  };
  const zoom = (factor, around) => show(around - (around - from) * factor, around + (to - around) * factor);
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey) show(from + (event.deltaY / 500) * (to - from), to + (event.deltaY / 500) * (to - from));
    else zoom(Math.exp(event.deltaY / 400), Math.max(0, timeAt(place(event)[0])));
  }, { passive: false });
  let dragged = null;
  canvas.addEventListener("pointerdown", (event) => {
    dragged = [place(event)[0], from, to];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { dragged = null; });
  canvas.addEventListener("pointermove", (event) => {
    const [left, top] = place(event);
    if (dragged) {
      const by = ((dragged[0] - left) / (width() - margin)) * (dragged[2] - dragged[1]);
      show(dragged[1] + by, dragged[2] + by);
      return;
    }
    const lane = lanes[Math.floor((top - axis) / laneHeight())];
    if (!lane || left < margin) return;
    const time = timeAt(left);
    const slack = (to - from) / width();
    const near = lane.calls.filter((call) => call.begin - slack <= time && time <= call.end + slack);
    const call = near.at(-1);
    pointed.textContent = call === undefined
      ? `rank ${lane.name}: ${seconds(time)}, not in MPI`
      : `rank ${lane.name}: ${trace.functions[call.called]}, ${seconds(call.end - call.begin)}, from ${seconds(call.begin)}` +
        (call.bytes ? `, ${call.bytes} bytes` : "") + (call.peer === null ? "" : `, with rank ${call.peer}`) +
        (call.site === undefined ? "" : `, at ${call.site}`);
  });
  canvas.addEventListener("keydown", (event) => {
    const length = to - from;
    const middle = (from + to) / 2;
    const keys = {
      "+": () => zoom(0.5, middle), "=": () => zoom(0.5, middle), "-": () => zoom(2, middle), 0: () => show(0, whole),
      ArrowLeft: () => show(from - length / 4, to - length / 4), ArrowRight: () => show(from + length / 4, to + length / 4),
    };
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  window.addEventListener("resize", () => requestAnimationFrame(draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => requestAnimationFrame(draw));
  draw();
})();
