//! From what is wanted to functions that call each other: loads the tools and composes the levels.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use std::collections::HashMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use mpi_tool_layer::install::{ToolInfo, linker_message};
use mpi_tool_layer::qmpi::{
    Address, Beginning, Cell, Created, DynamicLib, Entry, Request, StackTool, TUM_FUNCTIONS,
    VERSION, Vector, abi_number, abi_of, list_fingerprint,
};
use mpi_tool_layer::{FunctionId, NextTable, mpi_sys};

use crate::code::Region;
use crate::config::{Problem, Wanted};
use crate::pmpi::PmpiTool;
use crate::template::Template;
use crate::{depth, elf, pmpi, tum};

/// A tool as it can be used.
enum Tool {
    Framework(&'static StackTool),
    /// Of TUM's QMPI: its functions by TUM's id, or null.
    Foreign(Box<[*const c_void; TUM_FUNCTIONS]>, Box<[*const c_char; TUM_FUNCTIONS]>),
    Pmpi(PmpiTool),
}

pub(crate) struct Level {
    wanted: Wanted,
    handle: *mut c_void,
    tool: Tool,
}

/// What a file is, for levels that name it again: what to load for it, or why it is no tool.
type Files = HashMap<PathBuf, Result<PathBuf, String>>;

/// Loads the tools; those that cannot be had are problems.
pub(crate) fn load(wanted: Vec<Wanted>, rank: u32, problems: &mut Vec<Problem>) -> Vec<Level> {
    let mut files = Files::new();
    let mut levels = Vec::new();
    for wanted in wanted.into_iter().filter(|wanted| wanted.is_on(rank)) {
        match load_one(&wanted.path, &mut files, &levels) {
            Ok((handle, tool)) => levels.push(Level { wanted, handle, tool }),
            Err(what) => {
                problems.push(Problem { level: Some(wanted.number), path: wanted.path, what });
            }
        }
    }
    levels
}

/// What to load for a path.
fn file_of(path: &Path) -> Result<PathBuf, String> {
    // A universal build would open it, but be no level.
    let path = elf::build_beside(path).unwrap_or_else(|| path.to_owned());
    if !is_bare(&path) {
        elf::check(&path)?;
    }
    Ok(path)
}

/// Says whether a path is a name without a slash, which is the dynamic linker's to find.
fn is_bare(path: &Path) -> bool {
    !path.as_os_str().as_bytes().contains(&b'/')
}

fn open(path: &Path) -> Result<*mut c_void, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "a path has no NUL")?;
    // SAFETY: `dlopen` reads a C string, and runs the tool's constructors and those of what it needs: it is a
    // tool that the user asked for.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(format!("cannot be loaded: {}", linker_message()));
    }
    Ok(handle)
}

fn load_one(
    path: &Path,
    files: &mut Files,
    before: &[Level],
) -> Result<(*mut c_void, Tool), String> {
    if !files.contains_key(path) {
        files.insert(path.to_owned(), file_of(path));
    }
    let path = files[path].clone()?;
    let mut handle = open(&path)?;
    // What the dynamic linker has found is known only now.
    if is_bare(&path)
        && let Some(file) = pmpi::file_of(handle)
    {
        match elf::build_beside(&file) {
            Some(build) => {
                elf::check(&build)?;
                handle = open(&build)?;
            }
            None => elf::check(&file)?,
        }
    }
    if let Some(tool) = find(handle, c"mpi_tool_stack").cast::<StackTool>() {
        // SAFETY: the pointer must be of such a structure, which stays. It is the exported one of a tool of
        // this framework, never written, in a library that is not closed. The first fields are the same in all
        // versions.
        let tool: &'static StackTool = unsafe { &*tool };
        if tool.version == VERSION {
            (tool.silence)();
            if tool.abi != abi_number() {
                return Err(
                    abi_of(tool.abi).map_or("built for an unknown ABI".into(), elf::other_abi)
                );
            }
            if tool.functions == list_fingerprint() {
                return Ok((handle, Tool::Framework(tool)));
            }
        }
        // Another version's: it serves as a tool for TUM's QMPI.
    }
    let Some(ask) = find(handle, c"get_interceptions").option() else {
        // Its table has room for one next level.
        let again = before.iter().any(|level| level.handle == handle);
        let handle = if again { pmpi::load_copy(handle)? } else { handle };
        return match PmpiTool::of(handle) {
            None => Err(elf::NO_TOOL.into()),
            Some(_) if find(handle, c"mpi_tool_info").option().is_some() => {
                Err(elf::ONLY_PRELOADED.into())
            }
            Some(tool) if tool.is_the_end() => Err(
                "a PMPI tool that calls no PMPI_ function itself, so levels below it would see \
                     nothing; it can be preloaded behind libqmpi.so"
                    .into(),
            ),
            Some(tool) => Ok((handle, Tool::Pmpi(tool))),
        };
    };
    // SAFETY: the transmute wants the function's own prototype: what has this name is TUM's function, which
    // takes an `int` and gives a C string.
    let ask: extern "C" fn(c_int) -> *const c_char = unsafe { core::mem::transmute(ask) };
    let mut functions = Box::new([ptr::null(); TUM_FUNCTIONS]);
    let mut names = Box::new([ptr::null(); TUM_FUNCTIONS]);
    for (id, function) in tum::functions() {
        let name = ask(id as c_int);
        names[id] = name;
        if name.is_null() {
            continue;
        }
        // SAFETY: the tool's function gives null, which was left out above, or by TUM's rules a C string that
        // stays.
        let name = unsafe { CStr::from_ptr(name) };
        if name == c"NULL" {
            continue;
        }
        match find(handle, name).option() {
            Some(address) => functions[id] = address,
            None => {
                let name = name.to_string_lossy();
                return Err(format!(
                    "it says that {name} intercepts {function}, but has no {name}"
                ));
            }
        }
    }
    Ok((handle, Tool::Foreign(functions, names)))
}

/// What `dlsym` found.
pub(crate) struct Found(*mut c_void);

impl Found {
    pub(crate) fn option(self) -> Option<*const c_void> {
        (!self.0.is_null()).then_some(self.0.cast_const())
    }

    fn cast<T>(self) -> Option<*const T> {
        self.option().map(<*const c_void>::cast)
    }
}

pub(crate) fn find(handle: *mut c_void, name: &CStr) -> Found {
    // SAFETY: `dlsym` reads a C string, which `name` is, and wants an opened library: all callers pass what
    // `dlopen` gave and is not null, and nothing closes it.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    if found.is_null() {
        linker_message();
    }
    Found(found)
}

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
            // SAFETY: `decode` wants an entry that is not `MPI_Pcontrol`'s: the table has entries, this one is
            // not null, and that function was left out above.
            let Entry { does_nothing, beginning } = unsafe { Entry::decode(address) };
            if does_nothing && !keep {
                return None;
            }
            let template = beginning.and_then(|Beginning { length, .. }| {
                // SAFETY: an entry's code, behind its first instructions.
                unsafe { Template::of(address.wrapping_byte_add(length)) }
            });
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
        let new = create(tool, label, &level.wanted.options, speaks);
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

/// A function of MPI's prototype that enters a foreign tool.
fn foreign_entry(
    region: &mut Region,
    function: FunctionId,
    tool: *const c_void,
    level: c_int,
    v: *const Vector,
) -> *const c_void {
    match function {
        FunctionId::MPI_Wtime | FunctionId::MPI_Wtick => {
            region.with_three(tum::enter_clock as *const c_void, level, v.cast(), tool)
        }
        FunctionId::MPI_Pcontrol => {
            // SAFETY: the transmute wants the function's own prototype, which TUM's header declares: the tool's
            // `MPI_Pcontrol` takes level and stack behind the first argument.
            let tool = unsafe {
                core::mem::transmute::<
                    *const c_void,
                    unsafe extern "C" fn(c_int, c_int, *const c_void) -> c_int,
                >(tool)
            };
            let place = Box::leak(Box::new(tum::PcontrolPlace { tool, level, v: v.cast() }));
            region.in_r11(tum::enter_pcontrol as *const c_void, ptr::from_ref(place).cast())
        }
        _ => region.append(tool, function.parameters().len(), level, v.cast()),
    }
}

/// A cell with a function that takes a level and `v`; level 0 is what is below all levels.
fn table_cell(
    region: &mut Region,
    function: FunctionId,
    entry: *const c_void,
    level: c_int,
) -> Cell {
    let func_ptr = region.table_entry(entry, |region| match function {
        FunctionId::MPI_Wtime | FunctionId::MPI_Wtick => {
            region.exec_clock(tum::execute_clock as *const c_void, entry, level)
        }
        _ => region.shift(function.parameters().len(), Some((entry, level))),
    });
    Cell { func_ptr, level, is_last: c_int::from(level == 0) }
}

/// The functions of which a foreign level may lose something that the next ones shall get.
fn is_special(function: FunctionId) -> bool {
    use FunctionId::{MPI_Pcontrol, MPI_Wtick, MPI_Wtime};
    [MPI_Pcontrol, MPI_Wtick, MPI_Wtime].contains(&function)
}

/// What foreign levels' tables have for a function of MPI's prototype, which does not mind further
/// arguments.
fn in_table(region: &mut Region, function: FunctionId, next: *const c_void) -> *const c_void {
    match function {
        FunctionId::MPI_Pcontrol => region.in_r11(tum::next_pcontrol as *const c_void, next),
        _ if is_special(function) => region.with_first(tum::next_clock as *const c_void, next),
        _ => next,
    }
}

fn create(tool: &StackTool, label: &CStr, options: &[(String, String)], speaks: bool) -> Created {
    let owned: Vec<[CString; 2]> = options
        .iter()
        .map(|(name, value)| {
            [name, value].map(|text| CString::new(text.as_str()).unwrap_or_default())
        })
        .collect();
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

/// TUM's structures for the library and its levels. They live as long as the process.
fn structures(levels: &[Level]) -> *mut Vector {
    let total = levels.len() + 1;
    let mut all: Vec<DynamicLib> = (0..total)
        .map(|_| DynamicLib {
            path: [0; 100],
            handle: ptr::null_mut(),
            interceptions: [c"NULL".as_ptr(); TUM_FUNCTIONS],
            table: [Cell { func_ptr: ptr::null(), level: 0, is_last: 0 }; TUM_FUNCTIONS],
            context: ptr::null_mut(),
        })
        .collect();
    for (item, level) in all[1..].iter_mut().zip(levels) {
        let path = level.wanted.path.as_os_str().as_bytes();
        let shown = path.len().min(item.path.len() - 1);
        item.path[..shown].copy_from_slice(&path[..shown]);
        item.handle = level.handle;
        if let Tool::Foreign(_, names) = &level.tool {
            item.interceptions.copy_from_slice(&**names);
        }
    }
    let items: Vec<*mut DynamicLib> =
        all.leak().iter_mut().map(|item| item as *mut DynamicLib).collect();
    let total = items.len() as c_int;
    let items = items.leak().as_mut_ptr();
    Box::into_raw(Box::new(Vector { items, capacity: total, total }))
}

/// # Safety
/// `v` is what [`structures`] made, and has more than `level` levels, the library's own among them.
unsafe fn structure(v: *mut Vector, level: usize) -> *mut DynamicLib {
    // SAFETY: the caller promises these structures and one of their levels: `items` has a pointer for each.
    unsafe { *(*v).items.add(level) }
}

/// What tools with a look-up of their own find below all levels.
fn tum_tables(bottom: &NextTable) {
    for (id, function) in tum::functions() {
        let below = match function {
            FunctionId::MPI_Pcontrol => tum::pcontrol_below as *const c_void,
            FunctionId::MPI_Wtime => tum::wtime_below as *const c_void,
            FunctionId::MPI_Wtick => tum::wtick_below as *const c_void,
            _ => bottom.entry(function),
        };
        tum::QMPI_Array[id].store(below.cast_mut(), Relaxed);
        let known = mpi_sys::pmpi::address(function as usize);
        let known = known.map_or(below.cast_mut(), ptr::NonNull::as_ptr);
        tum::PMPI_Array[id].store(known, Relaxed);
    }
}
