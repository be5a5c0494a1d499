//! Where things are in an interpreter's memory.
//!
//! From 3.13 on, `_PyRuntime` begins with a table of the offsets that debuggers need, `_Py_DebugOffsets`. Earlier versions have no such
//! table: for them the numbers are here. They are for 64-bit processors and were printed by a C program that includes CPython's own
//! internal headers (`Include/internal/pycore_*.h`, `Include/cpython/*.h`) and uses `offsetof`, for 3.9.18, 3.10.13, 3.11.7, and 3.12.1.
//! They hold for all releases of a minor version, since extensions are built against some of these structures.

use crate::{Memory, Unknown, read_word};

/// The numbers of a minor version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// 11 of Python 3.11.
    pub(crate) minor: u8,
    /// `_PyRuntimeState.interpreters.head`
    pub(crate) interpreters: u64,
    /// `PyInterpreterState.next`
    pub(crate) next_interpreter: u64,
    /// `PyInterpreterState.threads.head`, `tstate_head` before 3.11
    pub(crate) threads: u64,
    /// `PyThreadState.next`
    pub(crate) next_thread: u64,
    /// `PyThreadState.interp`
    pub(crate) interpreter: u64,
    /// `PyThreadState.thread_id`
    pub(crate) thread_id: u64,
    /// `PyThreadState.native_thread_id`, since 3.11
    pub(crate) native_thread_id: Option<u64>,
    /// From the thread's state to its innermost frame.
    pub(crate) current: Current,
    pub(crate) frame: FrameLayout,
    pub(crate) code: CodeLayout,
    /// `sizeof(PyASCIIObject)`, behind which the characters of most strings are.
    pub(crate) ascii: u64,
    /// `sizeof(PyCompactUnicodeObject)`, behind which those of others are.
    pub(crate) compact: u64,
}

/// How the innermost frame is found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Current {
    /// `PyThreadState.frame`, or `current_frame` since 3.13
    At(u64),
    /// `PyThreadState.cframe`, and in it `current_frame`
    Through(u64, u64),
}

/// Of a frame: `PyFrameObject` before 3.11, `_PyInterpreterFrame` since.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameLayout {
    /// `f_back`, `previous`
    pub(crate) previous: u64,
    /// `f_code`, `f_executable` since 3.13
    pub(crate) code: u64,
    pub(crate) instruction: Instruction,
    /// `owner`, since 3.11
    pub(crate) owner: Option<u64>,
    pub(crate) entry: Entry,
}

/// How the instruction is told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Instruction {
    /// `f_lasti`: so many bytes a unit.
    Index(u64, u32),
    /// `prev_instr`, `instr_ptr`
    Pointer(u64),
}

/// How a frame is known to be the outermost one of a call of the interpreter's function.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Entry {
    /// Each is.
    Each,
    /// `is_entry`
    Flag(u64),
    /// The interpreter's own frames are between, by their `owner`.
    Between,
}

/// Of `PyCodeObject`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeLayout {
    pub(crate) file: u64,
    /// `co_qualname` since 3.11, `co_name` before
    pub(crate) name: u64,
    pub(crate) first_line: u64,
    /// `co_linetable`, `co_lnotab` before 3.10
    pub(crate) lines: u64,
    /// `co_code_adaptive` since 3.11: the instructions themselves
    pub(crate) instructions: Option<u64>,
    /// `_co_firsttraceable`, since 3.11
    pub(crate) first_traceable: u64,
    /// `co_version`, since 3.12: no two code objects of an interpreter have the same, but 0
    pub(crate) version: Option<u64>,
}

/// `PyObject.ob_type`, and of objects with a size `PyVarObject.ob_size`.
pub(crate) const TYPE: u64 = 8;
pub(crate) const SIZE: u64 = 16;
/// `PyTypeObject.tp_name`
pub(crate) const TYPE_NAME: u64 = 24;
/// `PyBytesObject.ob_sval`
pub(crate) const BYTES: u64 = 32;
/// `PyASCIIObject.length`, `hash`, `state`
pub(crate) const LENGTH: u64 = 16;
pub(crate) const HASH: u64 = 24;
pub(crate) const STATE: u64 = 32;

const PYTHON_3_9: Layout = Layout {
    minor: 9,
    interpreters: 32,
    next_interpreter: 0,
    threads: 8,
    next_thread: 8,
    interpreter: 16,
    thread_id: 176,
    native_thread_id: None,
    current: Current::At(24),
    frame: FrameLayout {
        previous: 24,
        code: 32,
        instruction: Instruction::Index(104, 1),
        owner: None,
        entry: Entry::Each,
    },
    code: CodeLayout {
        file: 104,
        name: 112,
        first_line: 40,
        lines: 120,
        instructions: None,
        first_traceable: 0,
        version: None,
    },
    ascii: 48,
    compact: 72,
};

const PYTHON_3_10: Layout = Layout {
    minor: 10,
    // `f_lasti` counts instructions, of two bytes.
    frame: FrameLayout { instruction: Instruction::Index(96, 2), ..PYTHON_3_9.frame },
    ..PYTHON_3_9
};

const PYTHON_3_11: Layout = Layout {
    minor: 11,
    interpreters: 40,
    next_interpreter: 0,
    threads: 16,
    next_thread: 8,
    interpreter: 16,
    thread_id: 152,
    native_thread_id: Some(160),
    current: Current::Through(56, 8),
    frame: FrameLayout {
        previous: 48,
        code: 32,
        instruction: Instruction::Pointer(56),
        owner: Some(69),
        entry: Entry::Flag(68),
    },
    code: CodeLayout {
        file: 112,
        name: 128,
        first_line: 72,
        lines: 136,
        instructions: Some(184),
        first_traceable: 168,
        version: None,
    },
    ascii: 48,
    compact: 72,
};

const PYTHON_3_12: Layout = Layout {
    minor: 12,
    interpreters: 40,
    next_interpreter: 0,
    threads: 72,
    next_thread: 8,
    interpreter: 16,
    thread_id: 136,
    native_thread_id: Some(144),
    current: Current::Through(56, 0),
    frame: FrameLayout {
        previous: 8,
        code: 0,
        instruction: Instruction::Pointer(56),
        owner: Some(70),
        entry: Entry::Between,
    },
    code: CodeLayout {
        file: 112,
        name: 128,
        first_line: 68,
        lines: 136,
        instructions: Some(192),
        first_traceable: 176,
        version: Some(92),
    },
    ascii: 40,
    compact: 56,
};

/// What `_Py_DebugOffsets` begins with.
const COOKIE: [u8; 8] = *b"xdebugpy";

impl Layout {
    /// The layout of the interpreter whose `_PyRuntime` is at an address. `version` is its `Py_Version`, or as much of it as is known: it
    /// counts before 3.13 only.
    pub(crate) fn of(
        memory: &impl Memory,
        runtime: u64,
        version: Option<u32>,
    ) -> Result<Self, Unknown> {
        let mut cookie = [0; 8];
        if !memory.read(runtime, &mut cookie) {
            return Err(Unknown::Memory);
        }
        if cookie == COOKIE {
            return Self::described(memory, runtime);
        }
        let version = version.ok_or(Unknown::Version)?;
        match version >> 16 {
            0x0309 => Ok(PYTHON_3_9),
            0x030a => Ok(PYTHON_3_10),
            0x030b => Ok(PYTHON_3_11),
            0x030c => Ok(PYTHON_3_12),
            _ => Err(Unknown::Version),
        }
    }

    /// By the interpreter's own table.
    fn described(memory: &impl Memory, runtime: u64) -> Result<Self, Unknown> {
        let word = |at: usize| read_word(memory, runtime.wrapping_add(8 * at as u64));
        let version = word(1)?;
        if word(2)? != 0 {
            return Err(Unknown::FreeThreaded);
        }
        // `Include/internal/pycore_runtime.h` of 3.13, `pycore_debug_offsets.h` of 3.14: how many numbers each structure has.
        let Groups { interpreter, frame, code, set } = match version >> 16 {
            0x030d => Groups { interpreter: 13, frame: 6, code: 10, set: 0 },
            0x030e => Groups { interpreter: 16, frame: 8, code: 11, set: 4 },
            _ => return Err(Unknown::Version),
        };
        let mut at = 3;
        let mut group = |length: usize| {
            at += length;
            at - length
        };
        let [runtime, interpreter, thread, frame, code, object, type_] =
            [3, interpreter, 9, frame, code, 2, 4].map(&mut group);
        let (tuple, list, _set, dict, float, long) =
            (group(3), group(3), group(set), group(3), group(2), group(3));
        let (bytes, string) = (group(3), group(4));
        // A table of another length has other numbers there, and these do not change.
        let known = [
            (object, 16),
            (object + 1, TYPE),
            (type_ + 1, TYPE_NAME),
            (tuple + 2, SIZE),
            (list + 2, SIZE),
            (dict + 1, 32),
            (float + 1, 16),
            (long + 2, 24),
            (bytes + 1, SIZE),
            (bytes + 2, BYTES),
            (string + 1, STATE),
            (string + 2, LENGTH),
        ];
        for (at, value) in known {
            if word(at)? != value {
                return Err(Unknown::Version);
            }
        }
        // Structures are not larger than that, so that sums do not leave the address space.
        let offset = |at: usize| {
            word(at).and_then(|it| if it < 1 << 24 { Ok(it) } else { Err(Unknown::Version) })
        };
        let instructions = offset(code + 9)?;
        let first_line = offset(code + 5)?;
        let ascii = offset(string + 3)?;
        Ok(Self {
            minor: (version >> 16 & 0xff) as u8,
            interpreters: offset(runtime + 2)?,
            next_interpreter: offset(interpreter + 2)?,
            threads: offset(interpreter + 3)?,
            next_thread: offset(thread + 2)?,
            interpreter: offset(thread + 3)?,
            current: Current::At(offset(thread + 4)?),
            thread_id: offset(thread + 5)?,
            native_thread_id: Some(offset(thread + 6)?),
            frame: FrameLayout {
                previous: offset(frame + 1)?,
                code: offset(frame + 2)?,
                instruction: Instruction::Pointer(offset(frame + 3)?),
                owner: Some(offset(frame + 5)?),
                entry: Entry::Between,
            },
            code: CodeLayout {
                file: offset(code + 1)?,
                name: offset(code + 3)?,
                lines: offset(code + 4)?,
                first_line,
                instructions: Some(instructions),
                // The table does not have these two. In `Include/cpython/code.h` of 3.13 and 3.14, `_co_firsttraceable` is two words
                // before the instructions, and `co_version` six numbers behind the first line.
                first_traceable: instructions.checked_sub(16).ok_or(Unknown::Version)?,
                version: Some(first_line + 24),
            },
            ascii,
            // With a length and an address.
            compact: ascii + 16,
        })
    }
}

/// How many numbers the structures have that differ.
struct Groups {
    interpreter: usize,
    frame: usize,
    code: usize,
    set: usize,
}
