//! Threads of an interpreter, and the frames of one.

use crate::layout::{
    BYTES, Current, Entry, HASH, Instruction, LENGTH, Layout, SIZE, STATE, TYPE, TYPE_NAME,
};
use crate::lines;
use crate::{Memory, Unknown, read, read_number, read_word};

/// More interpreters, threads, or frames are not looked through.
const MOST_INTERPRETERS: usize = 256;
const MOST_THREADS: usize = 1 << 16;
const MOST_FRAMES: usize = 1 << 16;
/// The first frame that is wanted is looked for among so many.
const MOST_BEFORE: usize = 32;
/// Names of more characters, and tables of more bytes, are not believed.
const LONGEST_NAME: u64 = 4096;
const LONGEST_TABLE: u64 = 1 << 22;
/// Longer tables are not kept: each trail that needs one has it.
const LONGEST_KEPT: u64 = 1 << 16;
/// A `frame` of the interpreter's own has such an owner, or a greater one.
const OF_INTERPRETER: u8 = 3;
const OF_GENERATOR: u8 = 1;
/// In a string of which it was not asked for.
const NO_HASH: u64 = u64::MAX;

/// An interpreter's runtime in memory.
#[derive(Debug, Clone, Copy)]
pub struct Interpreter {
    runtime: u64,
    layout: Layout,
}

/// A thread that an interpreter knows, which is at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadState {
    /// Of its `PyThreadState`.
    pub address: u64,
    /// What `pthread_self` gives in that thread.
    pub pthread: u64,
    /// The kernel's number of the thread, since 3.11.
    pub kernel: Option<u64>,
}

/// A function of Python that has called another one, or C.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// With its class and the functions around it, since 3.11; its own name before.
    pub function: String,
    /// As the compiler was told it.
    pub file: String,
    /// None of what the compiler has added.
    pub line: Option<u32>,
    /// C has called it: the interpreter's function that runs it runs no frame further out.
    pub is_entry: bool,
}

/// Frames of a thread, the innermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stack {
    /// The frames.
    pub frames: Vec<Frame>,
    /// They lead to where the thread has begun.
    pub is_whole: bool,
}

/// What was in memory when frames were read, by which they are known again: as long as it is all the same, in this order, each word can be
/// read that is named next, and the frames are these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    /// Addresses of words, and the words.
    pub words: Vec<[u64; 2]>,
    /// Addresses of bytes, and the bytes, to be compared when the words are the same.
    pub bytes: Vec<(u64, Vec<u8>)>,
}

impl Interpreter {
    /// The interpreter whose `_PyRuntime` is at an address. `version` is what its `Py_Version` has, or `0x030a0000` if only 3.10 is known, and is
    /// needed before 3.13 only.
    pub fn new(memory: &impl Memory, runtime: u64, version: Option<u32>) -> Result<Self, Unknown> {
        Ok(Self { runtime, layout: Layout::of(memory, runtime, version)? })
    }

    /// 11 of Python 3.11.
    pub fn minor(&self) -> u8 {
        self.layout.minor
    }

    /// Does the process have several interpreters?
    pub fn has_others(&self, memory: &impl Memory) -> Result<bool, Unknown> {
        let first = read_word(memory, self.runtime + self.layout.interpreters)?;
        Ok(read_word(memory, first.wrapping_add(self.layout.next_interpreter))? != 0)
    }

    /// The state of a thread at an address.
    pub fn state(&self, memory: &impl Memory, address: u64) -> Result<ThreadState, Unknown> {
        let word = |offset: u64| read_word(memory, address.wrapping_add(offset));
        let kernel = self.layout.native_thread_id.map(word).transpose()?;
        Ok(ThreadState { address, pthread: word(self.layout.thread_id)?, kernel })
    }

    /// All threads that a condition is true of. Only while the process does not run: others' states are freed when threads end.
    pub fn threads(
        &self,
        memory: &impl Memory,
        mut is_one: impl FnMut(&ThreadState) -> bool,
    ) -> Result<Vec<ThreadState>, Unknown> {
        let layout = &self.layout;
        let mut found = Vec::new();
        let mut interpreter = read_word(memory, self.runtime.wrapping_add(layout.interpreters))?;
        for _ in 0..MOST_INTERPRETERS {
            if interpreter == 0 {
                return Ok(found);
            }
            let mut thread = read_word(memory, interpreter.wrapping_add(layout.threads))?;
            let mut left = MOST_THREADS;
            while thread != 0 {
                let owner = read_word(memory, thread.wrapping_add(layout.interpreter))?;
                left =
                    left.checked_sub(1).filter(|_| owner == interpreter).ok_or(Unknown::Wrong)?;
                found.extend(Some(self.state(memory, thread)?).filter(&mut is_one));
                thread = read_word(memory, thread.wrapping_add(layout.next_thread))?;
            }
            interpreter = read_word(memory, interpreter.wrapping_add(layout.next_interpreter))?;
        }
        Err(Unknown::Wrong)
    }

    /// Up to `most` frames of a thread: fewer if the thread has fewer, or if what is further out cannot be right, which the stack says.
    pub fn stack(
        &self,
        memory: &impl Memory,
        thread: &ThreadState,
        most: usize,
    ) -> Result<Stack, Unknown> {
        let (stack, _) = self.stack_with_trail(memory, thread, most, |_| true)?;
        Ok(stack)
    }

    /// The same, up to `most` frames from the first one on that a condition is true of; from the first of all if it is true of none. And by what they
    /// are known again.
    pub fn stack_with_trail(
        &self,
        memory: &impl Memory,
        thread: &ThreadState,
        most: usize,
        is_first: impl Fn(&Frame) -> bool,
    ) -> Result<(Stack, Trail), Unknown> {
        let walk = &mut Walk { memory, layout: &self.layout, trail: Trail::default() };
        let mut stack = Stack::default();
        let mut next = walk.current(thread)?;
        let mut first = None;
        let mut others = 0;
        for _ in 0..MOST_FRAMES {
            if next == 0 {
                stack.is_whole = true;
                break;
            }
            let least = first.unwrap_or(MOST_BEFORE);
            if stack.frames.len() >= least.saturating_add(most) {
                break;
            }
            // Each function has at most one of the interpreter's own behind it, and few have not begun.
            if others > stack.frames.len() + MOST_BEFORE {
                break;
            }
            let kept = [walk.trail.words.len(), walk.trail.bytes.len()];
            match walk.frame(next) {
                Ok((found, previous)) => {
                    others += usize::from(!matches!(found, Found::Function(_)));
                    match found {
                        Found::Function(frame) => {
                            if first.is_none() && is_first(&frame) {
                                first = Some(stack.frames.len());
                            }
                            stack.frames.push(frame);
                        }
                        // It is behind the one that C has called.
                        Found::Interpreter => {
                            if let Some(last) = stack.frames.last_mut() {
                                last.is_entry = true;
                            }
                        }
                        Found::Beginning => {}
                    }
                    next = previous;
                }
                Err(error) if stack.frames.is_empty() => return Err(error),
                Err(_) => {
                    // What led to nothing that is right may lead anywhere: whoever looks at the trail again must not follow it.
                    walk.trail.words.truncate(kept[0]);
                    walk.trail.bytes.truncate(kept[1]);
                    break;
                }
            }
        }
        if stack.is_whole
            && let Some(last) = stack.frames.last_mut()
        {
            last.is_entry = true;
        }
        let _ = stack.frames.drain(..first.unwrap_or(0));
        stack.frames.truncate(most);
        Ok((stack, std::mem::take(&mut walk.trail)))
    }
}

struct Walk<'walk, M> {
    memory: &'walk M,
    layout: &'walk Layout,
    trail: Trail,
}

/// What a frame is.
enum Found {
    Function(Frame),
    /// The interpreter's own, where C has called it.
    Interpreter,
    /// Of a function that has not begun: Python says nothing of it either.
    Beginning,
}

impl<M: Memory> Walk<'_, M> {
    /// A word by which frames are known again.
    fn kept(&mut self, address: u64) -> Result<u64, Unknown> {
        let word = read_word(self.memory, address)?;
        self.trail.words.push([address, word]);
        Ok(word)
    }

    /// The innermost frame of a thread; 0 of one that is in no Python.
    fn current(&mut self, thread: &ThreadState) -> Result<u64, Unknown> {
        match self.layout.current {
            Current::At(offset) => self.kept(thread.address.wrapping_add(offset)),
            Current::Through(offset, inside) => {
                let place = self.kept(thread.address.wrapping_add(offset))?;
                if place == 0 {
                    return Ok(0);
                }
                self.kept(place.wrapping_add(inside))
            }
        }
    }

    /// The frame at an address, and where the next one is.
    fn frame(&mut self, address: u64) -> Result<(Found, u64), Unknown> {
        let (memory, layout) = (self.memory, self.layout.frame);
        if !address.is_multiple_of(8) {
            return Err(Unknown::Wrong);
        }
        let owner = match layout.owner {
            Some(offset) => read::<1>(memory, address.wrapping_add(offset))?[0],
            None => OF_GENERATOR,
        };
        if owner >= OF_INTERPRETER {
            let previous = self.kept(address.wrapping_add(layout.previous))?;
            return Ok((Found::Interpreter, previous));
        }
        // Since 3.14 the lowest bits say how the object is held.
        let code = self.kept(address.wrapping_add(layout.code))? & !3;
        let place = match layout.instruction {
            Instruction::Index(offset, _) | Instruction::Pointer(offset) => {
                address.wrapping_add(offset)
            }
        };
        let word = self.kept(place)?;
        let previous = self.kept(address.wrapping_add(layout.previous))?;
        self.check_type(code, b"code")?;
        let instruction = match layout.instruction {
            // The next number in the word is the line, of frames that are traced only.
            Instruction::Index(_, unit) => {
                i64::from(word as u32 as i32).checked_mul(unit.into()).ok_or(Unknown::Wrong)?
            }
            Instruction::Pointer(_) => {
                let begin = self.layout.code.instructions.ok_or(Unknown::Version)?;
                let length = read_word(memory, code.wrapping_add(SIZE))?;
                let at = word.wrapping_sub(code.wrapping_add(begin)).cast_signed();
                // Before its first instruction, it is the one behind a frame that begins.
                let units = i64::try_from(length).map_err(|_| Unknown::Wrong)?;
                if !(-2..units.saturating_mul(2)).contains(&at) || at % 2 != 0 {
                    return Err(Unknown::Wrong);
                }
                at
            }
        };
        if layout.owner.is_some() && owner != OF_GENERATOR {
            let first = read_number(memory, code.wrapping_add(self.layout.code.first_traceable))?;
            if instruction < 2 * i64::from(first) {
                return Ok((Found::Beginning, previous));
            }
        }
        let is_entry = match layout.entry {
            Entry::Each => true,
            Entry::Flag(offset) => read::<1>(memory, address.wrapping_add(offset))?[0] != 0,
            Entry::Between => false,
        };
        let frame = self.function(code, instruction, is_entry)?;
        Ok((Found::Function(frame), previous))
    }

    /// What a code object says of one of its instructions.
    fn function(&mut self, code: u64, instruction: i64, is_entry: bool) -> Result<Frame, Unknown> {
        let (memory, layout) = (self.memory, self.layout.code);
        let [name, file, lines] = match layout.version {
            Some(version) => {
                // Another code object at the same place has another version; the word has what is before it, which does not change.
                let word = code.wrapping_add(version) & !7;
                let version = read_number(memory, code.wrapping_add(version))?;
                let _ = self.kept(word)?;
                let words = [layout.name, layout.file, layout.lines]
                    .map(|offset| read_word(memory, code.wrapping_add(offset)));
                let [name, file, lines] = words;
                let (name, file, lines) = (name?, file?, lines?);
                if version == 0 {
                    // All versions were given away: the contents count.
                    self.keep_contents(code, [name, file, lines])?;
                }
                [name, file, lines]
            }
            None => {
                let word = |offset| read_word(memory, code.wrapping_add(offset));
                let words = [word(layout.name)?, word(layout.file)?, word(layout.lines)?];
                self.keep_contents(code, words)?;
                words
            }
        };
        let first_line = read_number(memory, code.wrapping_add(layout.first_line))?;
        let table = self.bytes(lines)?;
        let line = match (self.layout.minor, u64::try_from(instruction)) {
            // Nothing was run yet.
            (_, Err(_)) => u32::try_from(first_line).ok(),
            (9, Ok(at)) => lines::by_steps(&table, first_line, at),
            (10, Ok(at)) => lines::by_lengths(&table, first_line, at),
            (_, Ok(at)) => lines::by_locations(&table, first_line, at),
        };
        Ok(Frame { function: self.text(name)?, file: self.text(file)?, line, is_entry })
    }

    /// Keeps what a code object has, where nothing else tells one from another that comes to its place.
    fn keep_contents(&mut self, code: u64, [name, file, lines]: [u64; 3]) -> Result<(), Unknown> {
        let layout = self.layout.code;
        for offset in [layout.first_line & !7, layout.name, layout.file, layout.lines] {
            let _ = self.kept(code.wrapping_add(offset))?;
        }
        let length = self.kept(lines.wrapping_add(SIZE))?;
        if length > LONGEST_KEPT {
            return Err(Unknown::Wrong);
        }
        let table = self.bytes(lines)?;
        self.trail.bytes.push((lines.wrapping_add(BYTES), table));
        for text in [name, file] {
            // Functions of one file have the same string.
            let (hash, length) = (text.wrapping_add(HASH), text.wrapping_add(LENGTH));
            if self.trail.words.iter().any(|[known, _]| [hash, length].contains(known)) {
                continue;
            }
            // It is by the characters, with a key of this process, and there once it was asked for, as of all names that are looked up.
            if read_word(self.memory, hash)? != NO_HASH {
                let _ = self.kept(hash)?;
                continue;
            }
            let _ = self.kept(length)?;
            let (at, bytes) = self.characters(text)?;
            self.trail.bytes.push((at, bytes));
        }
        Ok(())
    }

    /// Is an object of a type, by the type's name?
    fn check_type(&self, object: u64, name: &[u8]) -> Result<(), Unknown> {
        let of_type = read_word(self.memory, object.wrapping_add(TYPE))?;
        let at = read_word(self.memory, of_type.wrapping_add(TYPE_NAME))?;
        let mut found = [0; 8];
        let found = &mut found[..=name.len()];
        let is_it =
            at != 0 && self.memory.read(at, found) && found.strip_suffix(&[0]) == Some(name);
        if is_it { Ok(()) } else { Err(Unknown::Wrong) }
    }

    fn bytes(&self, object: u64) -> Result<Vec<u8>, Unknown> {
        self.check_type(object, b"bytes")?;
        let length = read_word(self.memory, object.wrapping_add(SIZE))?;
        self.some(object.wrapping_add(BYTES), length, LONGEST_TABLE)
    }

    fn some(&self, address: u64, length: u64, longest: u64) -> Result<Vec<u8>, Unknown> {
        if length > longest {
            return Err(Unknown::Wrong);
        }
        let mut bytes = vec![0; length as usize];
        if self.memory.read(address, &mut bytes) { Ok(bytes) } else { Err(Unknown::Memory) }
    }

    /// Where the characters of a string are, and all of them.
    fn characters(&self, object: u64) -> Result<(u64, Vec<u8>), Unknown> {
        let (kind, is_ascii) = self.kind(object)?;
        let length = read_word(self.memory, object.wrapping_add(LENGTH))?;
        let begin = if is_ascii { self.layout.ascii } else { self.layout.compact };
        let at = object.wrapping_add(begin);
        let length = length.checked_mul(kind).ok_or(Unknown::Wrong)?;
        Ok((at, self.some(at, length, LONGEST_NAME * 4)?))
    }

    /// How many bytes a character has, and whether all are ASCII. The bits are, from the lowest one: interned (2), kind (3), compact, ascii.
    fn kind(&self, object: u64) -> Result<(u64, bool), Unknown> {
        self.check_type(object, b"str")?;
        let state = read_number(self.memory, object.wrapping_add(STATE))?;
        let (kind, is_compact, is_ascii) = (state >> 2 & 7, state & 32 != 0, state & 64 != 0);
        match (kind, is_compact, is_ascii) {
            (1, true, _) | (2 | 4, true, false) => Ok((kind as u64, is_ascii)),
            _ => Err(Unknown::Wrong),
        }
    }

    fn text(&self, object: u64) -> Result<String, Unknown> {
        let (kind, is_ascii) = self.kind(object)?;
        let (_, bytes) = self.characters(object)?;
        if is_ascii && !bytes.is_ascii() {
            return Err(Unknown::Wrong);
        }
        let number = |character: &[u8]| {
            character.iter().rev().fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
        };
        // A half of a pair stands for a byte of a file's name that is no character.
        let character =
            |bytes| char::from_u32(number(bytes)).unwrap_or(char::REPLACEMENT_CHARACTER);
        let text: String = bytes.chunks_exact(kind as usize).map(character).collect();
        if text.is_empty() { Err(Unknown::Wrong) } else { Ok(text) }
    }
}
