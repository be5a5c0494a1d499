"use strict";
// Shows what depends on the reader: tables with all numbers of the report, and the picture of the matrix. Text gets into
// the page as text only.
(() => {
  const element = (name, text) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  // Numbers beyond those that a double holds exactly are shown as they are written.
  const exact = (key, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && context?.source ? context.source : value;
  const written = document.getElementById("mpi-tool-report").textContent;
  const report = JSON.parse(written);
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

  // The fields of an object by their paths: `time.by_rank.sum`.
  const flatten = (value, path, into) => {
    for (const [name, inner] of Object.entries(value)) {
      const here = path ? path + "." + name : name;
      if (isObject(inner)) flatten(inner, here, into);
      else into.set(here, inner === null ? "" : Array.isArray(inner) ? JSON.stringify(inner) : String(inner));
    }
    return into;
  };

  const table = (columns, rows) => {
    const made = element("table");
    const header = made.createTHead().insertRow();
    for (const column of columns) {
      const cell = element("th", column);
      cell.scope = "col";
      header.append(cell);
    }
    const body = made.createTBody();
    for (const row of rows) {
      const line = element("tr");
      for (const value of row) line.append(element("td", value));
      body.append(line);
    }
    return made;
  };

  const unfoldable = (name, count, inner) => {
    const details = element("details");
    details.append(element("summary", name + ": " + count));
    const scroll = element("div");
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.append(inner);
    details.append(scroll);
    return details;
  };

  const allNumbers = () => {
    const section = document.getElementById("data");
    if (!section) return;
    const data = JSON.parse(written, exact);
    const single = {};
    const lists = Object.entries(data);
    if (Array.isArray(data.segments?.rows)) {
      const { rows, ...others } = data.segments;
      lists.splice(lists.findIndex(([name]) => name === "segments"), 1, ["segments", rows], ["", others]);
    }
    for (const [name, value] of lists) {
      if (!Array.isArray(value)) {
        single[name || "segments"] = value;
        continue;
      }
      const lines = value.map((item, index) =>
        flatten(isObject(item) ? item : { value: item }, "", new Map([["number", String(index + 1)]])));
      const columns = [...new Set(lines.flatMap((line) => [...line.keys()]))];
      const rows = lines.map((line) => columns.map((column) => line.get(column) ?? ""));
      const made = unfoldable(name, value.length, table(columns, rows));
      made.id = "data-" + name;
      section.append(made);
    }
    const rows = [...flatten(single, "", new Map())];
    const made = unfoldable("run", rows.length, table(["field", "value"], rows));
    made.id = "data-run";
    section.append(made);
  };

  const bytes = (value) => {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let unit = 0;
    for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
    return (unit ? value.toFixed(1) : value) + " " + units[unit];
  };

  // A colour of the page as three numbers.
  const colour = (name) => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim().slice(1);
    const long = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
    return [0, 2, 4].map((at) => parseInt(long.slice(at, at + 2), 16));
  };

  // When ranks are in MPI: a row for each rank, or for neighbours, and a column for each stretch of time.
  const timeline = () => {
    const canvas = document.getElementById("when");
    const rows = report.timeline ?? [];
    if (!canvas || !rows.length) return;
    const columns = Math.max(...rows.map((row) => row.permille.length));
    const wide = Math.max(1, Math.floor(800 / columns));
    const high = Math.max(1, Math.floor(320 / rows.length));
    let [row, column] = [0, 0];

    const draw = () => {
      const [ground, ink] = [colour("--ground"), colour("--part")];
      const image = new ImageData(columns, rows.length);
      rows.forEach(({ permille }, at) => permille.forEach((share, bin) => {
        for (let channel = 0; channel < 3; channel++)
          image.data[4 * (at * columns + bin) + channel] = ground[channel] + (ink[channel] - ground[channel]) * share / 1000;
        image.data[4 * (at * columns + bin) + 3] = 255;
      }));
      const small = element("canvas");
      [small.width, small.height] = [columns, rows.length];
      small.getContext("2d").putImageData(image, 0, 0);
      [canvas.width, canvas.height] = [columns * wide, rows.length * high];
      const context = canvas.getContext("2d");
      context.imageSmoothingEnabled = false;
      context.drawImage(small, 0, 0, canvas.width, canvas.height);
      context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--mark");
      context.lineWidth = 2;
      context.strokeRect(column * wide, row * high, wide, high);
      const { rank, ranks, width, permille } = rows[row];
      const whose = ranks === 1 ? "Rank " + rank : ranks + " ranks from rank " + rank + " on";
      const moment = (bin) => (bin * width / 1e9).toFixed(2) + " s";
      document.getElementById("moment").textContent = whose + ", " + moment(column) + " to " + moment(column + 1) + ": " +
        (column < permille.length ? (permille[column] / 10).toFixed(1) + " % in MPI" : "had ended");
    };

    const choose = (newRow, newColumn) => {
      row = Math.min(Math.max(0, newRow), rows.length - 1);
      column = Math.min(Math.max(0, newColumn), columns - 1);
      draw();
    };
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      choose(row + by[0], column + by[1]);
    });
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      choose(Math.floor((event.clientY - box.top) / box.height * rows.length),
        Math.floor((event.clientX - box.left) / box.width * columns));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    draw();
  };

  // The matrix: each rank is a row and a column; of more ranks than this, several are one.
  const MOST = 1024;
  const EACH = 4096;

  const matrix = () => {
    const canvas = document.getElementById("picture");
    if (!canvas || !report.matrix) return;
    const entries = report.matrix.filter((entry) => Array.isArray(entry.ranks));
    let ranks = report.ranks ?? 0;
    const each = (entry, visit) => {
      for (const [first, length, stride, count] of entry.ranks)
        for (let run = 0; run < count; run++)
          for (let rank = first + run * stride; rank < first + run * stride + length; rank++) visit(rank);
    };
    if (!ranks)
      for (const entry of entries) each(entry, (rank) => { ranks = Math.max(ranks, rank + 1); });
    if (!ranks) return;
    const tile = ranks > EACH ? Math.ceil(ranks / MOST) : 1;
    const size = Math.ceil(ranks / tile);
    const pairs = (flow, visit) => {
      for (const entry of entries) {
        if (entry.flow !== flow || typeof entry.peer !== "number") continue;
        each(entry, (rank) => {
          const peer = rank + entry.peer;
          if (flow === "sent") visit(rank, peer, entry);
          else visit(peer, rank, entry);
        });
      }
    };
    const rank = document.getElementById("rank");
    const flow = document.getElementById("flow");
    const hostOf = new Map();
    (report.hosts ?? []).forEach((host, index) => (host.by_rank?.rank ?? []).forEach((of) => hostOf.set(of, index)));
    // Small matrices get cells of several pixels, so that lines between hosts fit.
    const cell = Math.max(1, Math.floor(640 / size));

    const draw = () => {
      const sums = new Float64Array(size * size);
      let most = 0;
      pairs(flow.value, (from, to, entry) => {
        const at = Math.floor(from / tile) * size + Math.floor(to / tile);
        sums[at] += entry.bytes;
        most = Math.max(most, sums[at]);
      });
      const style = getComputedStyle(document.documentElement);
      const [ground, ink] = [colour("--ground"), colour("--ink")];
      const image = new ImageData(size, size);
      const top = Math.log1p(most);
      for (let at = 0; at < sums.length; at++) {
        const part = sums[at] ? 0.15 + 0.85 * (top ? Math.log1p(sums[at]) / top : 1) : 0;
        for (let channel = 0; channel < 3; channel++)
          image.data[4 * at + channel] = ground[channel] + (ink[channel] - ground[channel]) * part;
        image.data[4 * at + 3] = 255;
      }
      const small = element("canvas");
      small.width = small.height = size;
      small.getContext("2d").putImageData(image, 0, 0);
      canvas.width = canvas.height = size * cell;
      const context = canvas.getContext("2d");
      context.imageSmoothingEnabled = false;
      context.drawImage(small, 0, 0, size * cell, size * cell);
      context.fillStyle = style.getPropertyValue("--mark");
      for (let row = 1; row < size && tile === 1; row++) {
        if (hostOf.get(row) === hostOf.get(row - 1)) continue;
        // As wide as a pixel of the page at least: the picture is made smaller there.
        const width = Math.ceil(size * cell / 320);
        context.fillRect(0, row * cell, size * cell, width);
        context.fillRect(row * cell, 0, width, size * cell);
      }
      const row = Math.floor(Number(rank.value) / tile);
      context.strokeStyle = style.getPropertyValue("--part");
      context.lineWidth = Math.max(1, size * cell / 400);
      context.strokeRect(0, row * cell - 0.5, size * cell, cell + 1);
      document.getElementById("scale").textContent =
        (tile > 1 ? "Each cell is " + tile + " × " + tile + " ranks. " : "") + "The cell that stands out most has " + bytes(most) + ".";
    };

    const zoom = () => {
      const own = Math.min(Math.max(0, Math.floor(Number(rank.value) || 0)), ranks - 1);
      const peers = new Map();
      pairs(flow.value, (from, to, entry) => {
        if (from !== own) return;
        const sum = peers.get(to) ?? [0, 0];
        peers.set(to, [sum[0] + entry.messages, sum[1] + entry.bytes]);
      });
      const rows = [...peers].sort((one, other) => other[1][1] - one[1][1] || one[0] - other[0])
        .map(([to, [messages, sum]]) => [to, messages, sum, bytes(sum)]);
      const made = table(["rank " + own + " to", "messages", "bytes", ""], rows);
      document.getElementById("row").replaceChildren(rows.length ? made : element("p", "Rank " + own + " has sent nothing to a rank."));
    };

    const show = () => { draw(); zoom(); };
    rank.max = ranks - 1;
    rank.addEventListener("input", show);
    flow.addEventListener("change", show);
    const move = (by) => {
      rank.value = Math.min(Math.max(0, Number(rank.value) + by), ranks - 1);
      show();
    };
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1, PageUp: -16, PageDown: 16 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      move(by * tile);
    });
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      rank.value = Math.min(Math.floor((event.clientY - box.top) / box.height * size) * tile, ranks - 1);
      show();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    show();
  };

  timeline();
  matrix();
  allNumbers();
})();
