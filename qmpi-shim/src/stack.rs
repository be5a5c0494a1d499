//! From levels to functions that call each other: composes, for each function, those that see it.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use std::collections::HashMap;
use std::ffi::CString;

use mpi_tool_layer::install::ToolInfo;
use mpi_tool_layer::qmpi::{
    Address, Beginning, Cell, Code, Created, DynamicLib, Entry, Request, StackTool, TUM_FUNCTIONS,
};
use mpi_tool_layer::{FunctionId, NextTable};

use crate::code::Region;
use crate::config::Wanted;
use crate::foreign::{
    foreign_entry, in_table, is_special, structure, structures, table_cell, tum_tables,
};
use crate::template::Template;
use crate::tools::{Level, Tool};
use crate::{depth, tum};

/// What came of it.
pub(crate) struct Composed {
    /// One line a level, for people.
    pub(crate) lines: Vec<String>,
    pub(crate) bytes: usize,
}

/// An entry of a level of this framework.
pub(crate) struct Known {
    pub(crate) address: *const c_void,
    pub(crate) beginning: Option<Beginning>,
    /// What is behind the beginning.
    pub(crate) template: Option<Template>,
}

/// The entries of a table by function; `None` where there is nothing to do. Levels of the same tool
/// share this.
fn known(table: *const Address, keep: bool) -> Vec<Option<Known>> {
    let mut code = Code::default();
    FunctionId::all()
        .map(|function| {
            // SAFETY: the entry must be one of the table's. Tables of a `StackTool` have one for each function
            // of its list, which is this one's: `load_one` has compared their fingerprints.
            let Address(address) = unsafe { *table.add(function as usize) };
            if address.is_null() {
                return None;
            }
            if function == FunctionId::MPI_Pcontrol {
                return Some(Known { address, beginning: None, template: None });
            }
            // SAFETY: `at` wants an object that stays loaded: the tool is never closed.
            let code = unsafe { code.at(address) };
            let Entry { does_nothing, beginning } = Entry::of(code);
            if does_nothing && !keep {
                return None;
            }
            let template =
                beginning.and_then(|Beginning { length, .. }| Template::of(&code[length..]));
            Some(Known { address, beginning, template })
        })
        .collect()
}

/// How much code a level of this framework has for a function at most, and a foreign one.
const ENTER: usize = 40;
const APPEND: usize = 200;
const IN_TABLE: usize = 220;

/// Composes the levels above `bottom`, and puts what the application calls into `top`.
///
/// # Errors
/// There is no memory for code.
///
/// # Safety
/// `bottom` has MPI's functions, each of its own prototype. Nobody calls through `top` until this has returned,
/// but for functions that wait for it.
pub(crate) unsafe fn compose(
    levels: Vec<Level>,
    bottom: &NextTable,
    top: &NextTable,
    host: &ToolInfo,
    keep: bool,
) -> std::io::Result<Composed> {
    let labels = labels(&levels);
    let count = levels.len();
    let foreign = levels.iter().any(|level| matches!(level.tool, Tool::Foreign(..)));
    let v = if foreign { structures(&levels) } else { ptr::null_mut() };
    tum_tables(bottom);

    // Instances, and what is known of each tool's entries.
    let mut entries: HashMap<*const Address, Vec<Option<Known>>> = HashMap::new();
    let mut created: Vec<Option<Created>> = Vec::new();
    let mut chain: Vec<&'static ToolInfo> = Vec::new();
    let mut speaks = true;
    for (level, label) in levels.iter().zip(&labels) {
        let Tool::Framework(tool) = level.tool else {
            created.push(None);
            continue;
        };
        entries.entry(tool.entries).or_insert_with(|| known(tool.entries, keep));
        entries.entry(tool.lifecycle).or_insert_with(|| known(tool.lifecycle, false));
        let new = create(tool, label, &level.wanted, speaks);
        speaks = false;
        // SAFETY: the pointer must be of a `ToolInfo` that stays: it is of the instance that `create` has just
        // made, which lives as long as the process.
        chain.push(unsafe { &*new.info });
        created.push(Some(new));
    }

    let (mut code, mut places) = (TUM_FUNCTIONS * (IN_TABLE + ENTER), 0);
    for level in &levels {
        match &level.tool {
            Tool::Framework(tool) => {
                let all = [tool.entries, tool.lifecycle];
                for known in all.iter().flat_map(|table| &entries[table]).flatten() {
                    code += ENTER + known.template.as_ref().map_or(0, |known| known.code.len());
                    places += 1;
                }
                if foreign {
                    code += TUM_FUNCTIONS * IN_TABLE;
                }
            }
            Tool::Foreign(functions, _) => {
                code += functions.iter().filter(|function| !function.is_null()).count()
                    * (APPEND + IN_TABLE);
            }
            Tool::Pmpi(tool) => code += tool.count() * (ENTER + IN_TABLE),
        }
    }
    let mut region = Region::reserve(code, places)?;
    depth::watch(levels.iter().filter_map(|level| {
        let Wanted { number, path, .. } = &level.wanted;
        let function = match &level.tool {
            Tool::Framework(_) => None,
            Tool::Foreign(functions, _) => {
                functions.iter().copied().find(|function| !function.is_null())
            }
            Tool::Pmpi(tool) => FunctionId::all().find_map(|function| tool.function(function)),
        };
        Some((function?, format!("level {number} ({})", path.display())))
    }));
    if foreign {
        let most = tum::functions().map(|(_, function)| function.parameters().len()).max();
        let shift: Vec<_> =
            (0..=most.unwrap_or(0)).map(|number| region.shift(number, None)).collect();
        for (id, function) in tum::functions() {
            let execute = match function {
                FunctionId::MPI_Wtime | FunctionId::MPI_Wtick => {
                    tum::execute_clock as *const c_void
                }
                _ => shift[function.parameters().len()],
            };
            tum::EXECUTE[id].store(execute.cast_mut(), Relaxed);
        }
    }

    // What is below each PMPI tool, by function.
    let mut below: Vec<Vec<*const c_void>> = vec![Vec::new(); count];
    let mut seen = vec![0_usize; count];
    let mut bytes = vec![0_usize; count];
    let mut tops = Vec::with_capacity(FunctionId::COUNT);
    for function in FunctionId::all() {
        let id = function.tum_qmpi_id().map(usize::from);
        let mut next = bottom.entry(function);
        let mut foreign_sees = false;
        let mut cell = match id {
            Some(id) if foreign => {
                let below = tum::QMPI_Array[id].load(Relaxed).cast_const();
                table_cell(&mut region, function, below, 0)
            }
            _ => Cell { func_ptr: ptr::null(), level: 0, is_last: 0 },
        };
        for index in (0..count).rev() {
            let level = &levels[index];
            let sees = level.wanted.sees(function);
            let number = index as c_int + 1;
            let (before, size) = (next, region.size());
            match (&level.tool, &created[index]) {
                (Tool::Framework(tool), Some(new)) => {
                    if let Some(known) = &entries[&tool.lifecycle][function as usize] {
                        next = region.enter(known, next, new.level);
                    }
                    // SAFETY: `below` points to the table of an instance of this stack, which lives as long as
                    // the process. `set` wants a function of this prototype, callable at the first call: `next`
                    // is MPI's, or a level's, whose code is there then.
                    unsafe { (*new.below).set(function, next) };
                    if sees && let Some(known) = &entries[&tool.entries][function as usize] {
                        next = if function == FunctionId::MPI_Pcontrol {
                            region.enter_pcontrol(known.address, next, new.instance)
                        } else {
                            region.enter(known, next, new.instance)
                        };
                        seen[index] += 1;
                    }
                }
                (Tool::Pmpi(tool), _) => {
                    below[index].push(next);
                    if let Some(function) = tool.function(function).filter(|_| sees) {
                        next = function;
                        foreign_sees = true;
                        seen[index] += 1;
                    }
                }
                (Tool::Foreign(functions, _), _) => {
                    let Some(id) = id else { continue };
                    // SAFETY: nobody else may use the level's structure: it was made above for this number, as
                    // there are foreign levels, and no tool has seen it yet.
                    unsafe { (*structure(v, index + 1)).table[id] = cell };
                    if !sees || functions[id].is_null() {
                        continue;
                    }
                    seen[index] += 1;
                    foreign_sees = true;
                    next = foreign_entry(&mut region, function, functions[id], number, v);
                    let entry = if is_special(function) {
                        in_table(&mut region, function, next)
                    } else {
                        functions[id]
                    };
                    cell = table_cell(&mut region, function, entry, number);
                }
                (Tool::Framework(_), None) => unreachable!("each has an instance"),
            }
            let is_foreign = matches!(level.tool, Tool::Foreign(..));
            if next != before && !is_foreign && id.is_some() && foreign {
                let entry = in_table(&mut region, function, next);
                cell = table_cell(&mut region, function, entry, number);
            }
            bytes[index] += region.size() - size;
        }
        if let (Some(id), true) = (id, foreign) {
            // SAFETY: nobody else may use the structure: it is the library's own, number 0, made above, and no
            // tool has seen it yet.
            unsafe { (*structure(v, 0)).table[id] = cell };
        }
        if foreign_sees {
            next = region.unless_deep(next, depth::offset(), depth::look as *const c_void);
        }
        tops.push((function, next));
    }
    let common = region.size() - bytes.iter().sum::<usize>();
    region.finish()?;
    for (function, next) in tops {
        // SAFETY: `set` wants a function of this one's prototype: a level's, MPI's, or code that goes on to one.
        // Another thread may call it at once, so it comes here when the code can be executed.
        unsafe { top.set(function, next) };
    }
    for (level, below) in levels.iter().zip(below) {
        if let Tool::Pmpi(tool) = &level.tool {
            // SAFETY: `link` wants for each function one of its prototype: `below` has MPI's or a level's for
            // all of them, in order, and the code of those has been made by `finish`.
            unsafe { tool.link(&below)? };
        }
    }

    host.insert(&chain);
    let mut lines = Vec::new();
    for (index, (level, label)) in levels.iter().zip(&labels).enumerate() {
        let kind = match &level.tool {
            Tool::Framework(tool) => {
                bytes[index] += tool.instance_size;
                "fast"
            }
            Tool::Foreign(..) => {
                bytes[index] += size_of::<DynamicLib>();
                "TUM"
            }
            Tool::Pmpi(_) => "PMPI",
        };
        lines.push(format!(
            "level {}: {} ({}): {kind}, sees {} functions, {} bytes",
            level.wanted.number,
            label.to_string_lossy(),
            level.wanted.path.display(),
            seen[index],
            bytes[index],
        ));
    }
    let bytes = common + bytes.iter().sum::<usize>();
    Ok(Composed { lines, bytes })
}

fn create(tool: &StackTool, label: &CStr, wanted: &Wanted, speaks: bool) -> Created {
    // A report of some of the ranks cannot be merged over all.
    let forced = wanted.ranks.is_some().then_some(("MERGE".to_owned(), "0"));
    let options = wanted.options.iter().map(|(name, value)| (name.to_uppercase(), value.as_str()));
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let owned: Vec<[CString; 2]> =
        options.chain(forced).map(|(name, value)| [text(&name), text(value)]).collect();
    let settings: Vec<[*const c_char; 2]> =
        owned.iter().map(|[name, value]| [name.as_ptr(), value.as_ptr()]).collect();
    let request = Request {
        label: label.as_ptr(),
        settings: settings.as_ptr(),
        count: settings.len(),
        speaks,
    };
    // SAFETY: `create` wants a request whose strings and pairs are there until it returns: they are locals of
    // this function, and the caller's label.
    unsafe { (tool.create)(&request) }
}

/// What reports call each level: its name, or the tool's, with a number where that is there more
/// than once.
fn labels(levels: &[Level]) -> Vec<CString> {
    let default = |level: &Level| match level.tool {
        Tool::Framework(tool) => {
            // SAFETY: a tool of this framework has a C string for its name: a static of its library, which is
            // not closed.
            unsafe { CStr::from_ptr(tool.name) }.to_string_lossy().into_owned()
        }
        Tool::Foreign(..) | Tool::Pmpi(_) => {
            let file = level.wanted.path.file_stem().unwrap_or_default().to_string_lossy();
            file.strip_prefix("lib").unwrap_or(&file).to_owned()
        }
    };
    let mut number: HashMap<String, (usize, usize)> = HashMap::new();
    for level in levels.iter().filter(|level| level.wanted.name.is_none()) {
        number.entry(default(level)).or_default().0 += 1;
    }
    let label = |level: &Level| {
        let label = level.wanted.name.clone().unwrap_or_else(|| {
            let name = default(level);
            match number.get_mut(&name) {
                Some((all, this)) if *all > 1 => {
                    *this += 1;
                    format!("{name}-{this}")
                }
                _ => name,
            }
        });
        CString::new(label).unwrap_or_default()
    };
    levels.iter().map(label).collect()
}
