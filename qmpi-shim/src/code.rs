//! Machine code that is made when a stack is: a few instructions for each level and function.
//!
//! Code and the places that it refers to are two parts of one mapping. The code is written through
//! another mapping of the same memory, so that nothing is ever writable and executable.

use core::ffi::{c_int, c_void};
use core::ptr;
use std::io;

use mpi_tool_layer::qmpi::{Beginning, Place};

use crate::stack::Known;
use crate::template::Template;

/// The registers of arguments, in order, by number.
const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];

/// In front of the functions in foreign levels' tables. No instructions look like it: `ud2` twice.
pub(crate) const MARK: u32 = 0x0b0f_0b0f;

/// Where code and places go.
pub(crate) struct Region {
    base: *mut u8,
    code_size: usize,
    code: Vec<u8>,
    places: Vec<Place>,
    places_size: usize,
}

fn page(size: usize) -> usize {
    size.next_multiple_of(4096).max(4096)
}

impl Region {
    /// Room for so many bytes of code and so many places.
    pub(crate) fn reserve(code: usize, places: usize) -> io::Result<Self> {
        let (code_size, places_size) = (page(code), page(places * size_of::<Place>()));
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: `mmap` without `MAP_FIXED` makes a new mapping where there is none, so it touches no memory
        // that is in use.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), code_size + places_size, libc::PROT_NONE, flags, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            base: base.cast(),
            code_size,
            code: Vec::with_capacity(code),
            places: Vec::with_capacity(places),
            places_size,
        })
    }

    /// Bytes in use.
    pub(crate) fn size(&self) -> usize {
        self.code.len() + self.places.len() * size_of::<Place>()
    }

    /// Where the next instruction will be.
    fn here(&self) -> *const c_void {
        self.base.wrapping_add(self.code.len()).cast()
    }

    fn begin(&mut self) -> *const c_void {
        while !self.code.len().is_multiple_of(4) {
            self.code.push(0xcc);
        }
        self.here()
    }

    fn emit(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// The distance from the end of an instruction, where it fits.
    fn distance(&self, length: usize, target: *const c_void) -> Option<[u8; 4]> {
        let end = self.here().addr() + length;
        i32::try_from(target.addr().wrapping_sub(end).cast_signed()).ok().map(i32::to_le_bytes)
    }

    fn jump(&mut self, target: *const c_void) {
        if let Some(distance) = self.distance(5, target) {
            self.emit(&[0xe9]);
            self.emit(&distance);
        } else {
            // jmp [rip]
            self.emit(&[0xff, 0x25, 0, 0, 0, 0]);
            self.emit(&target.addr().to_le_bytes());
        }
    }

    /// `lea` or, for an address far away, `mov`.
    fn load_address(&mut self, register: u8, address: *const c_void) {
        let (high, low) = (register >> 3, register & 7);
        if let Some(distance) = self.distance(7, address) {
            self.emit(&[0x48 | high << 2, 0x8d, 0x05 | low << 3]);
            self.emit(&distance);
        } else {
            self.emit(&[0x48 | high, 0xb8 | low]);
            self.emit(&address.addr().to_le_bytes());
        }
    }

    /// `mov reg, imm32`
    fn load_int(&mut self, register: u8, value: c_int) {
        if register >= 8 {
            self.emit(&[0x41]);
        }
        self.emit(&[0xb8 | register & 7]);
        self.emit(&value.to_le_bytes());
    }

    /// A new place, and where it will be.
    fn place(&mut self, next: *const c_void, instance: *const c_void) -> *const c_void {
        let place = self.base.wrapping_add(self.code_size + size_of::<Place>() * self.places.len());
        self.places.push(Place { next, instance });
        place.cast()
    }

    /// A function of MPI's prototype that enters a level of this framework.
    pub(crate) fn enter(
        &mut self,
        known: &Known,
        next: *const c_void,
        instance: *const c_void,
    ) -> *const c_void {
        let place = self.place(next, instance);
        let start = self.begin();
        if let Some(Beginning { register, loads_next, length }) = known.beginning {
            // The entry's first instruction, or two, done here: the place is known.
            if loads_next {
                let (high, low) = (register >> 3, register & 7);
                // mov reg, [rip + place]; the place is near.
                let distance = self.distance(7, place).expect("the two parts are one mapping");
                self.emit(&[0x48 | high << 2, 0x8b, 0x05 | low << 3]);
                self.emit(&distance);
            } else {
                self.load_address(register, place);
            }
            if !known.template.as_ref().is_some_and(|template| self.copy(template)) {
                self.jump(known.address.wrapping_byte_add(length));
            }
        } else {
            self.load_address(0, place);
            // movq xmm0, rax
            self.emit(&[0x66, 0x48, 0x0f, 0x6e, 0xc0]);
            self.jump(known.address);
        }
        start
    }

    /// Copies code here, unless here is too far away from what it refers to.
    fn copy(&mut self, template: &Template) -> bool {
        let mut code = template.code.clone();
        for distance in &template.distances {
            let Some(bytes) = self.distance(distance.end, distance.target) else { return false };
            code[distance.offset..][..bytes.len()].copy_from_slice(&bytes);
        }
        self.emit(&code);
        true
    }

    /// The same for `MPI_Pcontrol`, whose entry takes its place from r11.
    pub(crate) fn enter_pcontrol(
        &mut self,
        entry: *const c_void,
        next: *const c_void,
        instance: *const c_void,
    ) -> *const c_void {
        let place = self.place(next, instance);
        self.in_r11(entry, place)
    }

    /// Jumps to a function with an address in r11, and all else as it was.
    pub(crate) fn in_r11(
        &mut self,
        function: *const c_void,
        address: *const c_void,
    ) -> *const c_void {
        let start = self.begin();
        self.load_address(11, address);
        self.jump(function);
        start
    }

    /// Jumps to the next function, by way of another one with the next in r11 where the stack pointer is below
    /// what the thread keeps at an offset from where its thread pointer points.
    pub(crate) fn unless_deep(
        &mut self,
        next: *const c_void,
        offset: i32,
        deep: *const c_void,
    ) -> *const c_void {
        let start = self.begin();
        // cmp rsp, fs:[offset]
        self.emit(&[0x64, 0x48, 0x3b, 0x24, 0x25]);
        self.emit(&offset.to_le_bytes());
        // jae next
        let distance = self.distance(6, next).expect("made code is near to made code");
        self.emit(&[0x0f, 0x83]);
        self.emit(&distance);
        self.load_address(11, next);
        self.jump(deep);
        start
    }

    /// Jumps to a function with an address for its first argument.
    pub(crate) fn with_first(
        &mut self,
        function: *const c_void,
        address: *const c_void,
    ) -> *const c_void {
        let start = self.begin();
        self.load_address(ARGUMENTS[0], address);
        self.jump(function);
        start
    }

    /// Jumps to a function with an integer and two addresses for arguments.
    pub(crate) fn with_three(
        &mut self,
        function: *const c_void,
        first: c_int,
        second: *const c_void,
        third: *const c_void,
    ) -> *const c_void {
        let start = self.begin();
        self.load_int(ARGUMENTS[0], first);
        self.load_address(ARGUMENTS[1], second);
        self.load_address(ARGUMENTS[2], third);
        self.jump(function);
        start
    }

    /// A function of MPI's prototype, with so many arguments, that calls one with `level` and `v`
    /// behind them.
    pub(crate) fn append(
        &mut self,
        function: *const c_void,
        arguments: usize,
        level: c_int,
        v: *const c_void,
    ) -> *const c_void {
        let start = self.begin();
        if let (Some(&level_in), Some(&v_in)) =
            (ARGUMENTS.get(arguments), ARGUMENTS.get(arguments + 1))
        {
            self.load_int(level_in, level);
            self.load_address(v_in, v);
            self.jump(function);
            return start;
        }
        // Those that do not fit in registers go on the stack, in a frame of its own: the caller's
        // has no room for two more. At the function's entry it is aligned, with the return address
        // on top.
        let on_stack = arguments + 2 - ARGUMENTS.len();
        let filler = usize::from(on_stack.is_multiple_of(2));
        if filler == 1 {
            // push rax
            self.emit(&[0x50]);
        }
        let mut pushed = filler;
        self.load_address(0, v);
        self.emit(&[0x50]);
        pushed += 1;
        match ARGUMENTS.get(arguments) {
            Some(&level_in) => self.load_int(level_in, level),
            None => {
                // push imm32
                self.emit(&[0x68]);
                self.emit(&level.to_le_bytes());
                pushed += 1;
            }
        }
        for argument in (ARGUMENTS.len()..arguments).rev() {
            let offset = 8 * (pushed + 1 + argument - ARGUMENTS.len());
            // push [rsp + offset]
            self.emit(&[0xff, 0xb4, 0x24]);
            self.emit_offset(offset);
            pushed += 1;
        }
        if let Some(distance) = self.distance(5, function) {
            self.emit(&[0xe8]);
            self.emit(&distance);
        } else {
            self.load_address(0, function);
            // call rax
            self.emit(&[0xff, 0xd0]);
        }
        // add rsp, imm32; ret
        self.emit(&[0x48, 0x81, 0xc4]);
        self.emit_offset(8 * pushed);
        self.emit(&[0xc3]);
        start
    }

    /// What foreign levels' tables have: a function of MPI's arguments with `level` and `v` behind
    /// them, which are the caller's affair. `exec_func` knows it by [`MARK`] in front of it, and
    /// jumps to where the address in front of that says.
    pub(crate) fn table_entry(
        &mut self,
        function: *const c_void,
        by_exec_func: impl FnOnce(&mut Self) -> *const c_void,
    ) -> *const c_void {
        let special = by_exec_func(self);
        while self.code.len() % 8 != 4 {
            self.code.push(0xcc);
        }
        self.emit(&special.addr().to_le_bytes());
        self.emit(&MARK.to_le_bytes());
        let start = self.here();
        self.jump(function);
        start
    }

    /// Where `exec_func` goes on for a clock, whose result it converts.
    pub(crate) fn exec_clock(
        &mut self,
        convert: *const c_void,
        clock: *const c_void,
        level: c_int,
    ) -> *const c_void {
        let start = self.begin();
        self.load_address(ARGUMENTS[0], clock);
        self.load_int(11, level);
        self.jump(convert);
        start
    }

    /// Where `exec_func` goes on for a function with so many arguments: they are behind the four of
    /// its own (the function in rdi, `v` in rcx) and go to where the function wants them, with the
    /// next level and `v` at the end. Without a function and a level these are in rdi and r11.
    ///
    /// That is two arguments less than there were, so it needs no more room than the caller made.
    pub(crate) fn shift(
        &mut self,
        arguments: usize,
        known: Option<(*const c_void, c_int)>,
    ) -> *const c_void {
        const R8: u8 = 8;
        const R9: u8 = 9;
        const R10: u8 = 10;
        const R11: u8 = 11;
        const RAX: u8 = 0;
        let start = self.begin();
        if known.is_none() {
            self.move_register(RAX, ARGUMENTS[0]);
        }
        // `v` is where it shall be if there are two.
        if arguments != 2 {
            self.move_register(R10, ARGUMENTS[3]);
        }
        // The stack, as seen from here, has argument 2 at rsp + 8.
        let slot = |argument: usize| 8 * (argument - 1);
        for (argument, &to) in ARGUMENTS.iter().enumerate().take(arguments) {
            match argument {
                0 => self.move_register(to, R8),
                1 => self.move_register(to, R9),
                _ => self.load_slot(to, slot(argument)),
            }
        }
        for argument in ARGUMENTS.len()..arguments {
            // push [rsp + from]; pop [rsp + to]
            self.emit(&[0xff, 0xb4, 0x24]);
            self.emit_offset(slot(argument));
            self.emit(&[0x8f, 0x84, 0x24]);
            self.emit_offset(8 * (argument - ARGUMENTS.len() + 1));
        }
        let on_stack = |argument: usize| 8 * (argument - ARGUMENTS.len() + 1);
        match (ARGUMENTS.get(arguments), known) {
            (Some(&to), Some((_, level))) => self.load_int(to, level),
            (Some(&to), None) => self.move_register(to, R11),
            (None, known) => {
                if let Some((_, level)) = known {
                    self.load_int(R11, level);
                }
                self.store_slot(on_stack(arguments), R11);
            }
        }
        match ARGUMENTS.get(arguments + 1) {
            _ if arguments == 2 => {}
            Some(&to) => self.move_register(to, R10),
            None => self.store_slot(on_stack(arguments + 1), R10),
        }
        match known {
            Some((function, _)) => self.jump(function),
            // jmp rax
            None => self.emit(&[0xff, 0xe0]),
        }
        start
    }

    fn emit_offset(&mut self, offset: usize) {
        let offset = u32::try_from(offset).expect("no function has so many arguments");
        self.emit(&offset.to_le_bytes());
    }

    /// `mov to, from`
    fn move_register(&mut self, to: u8, from: u8) {
        self.emit(&[0x48 | (from >> 3) << 2 | to >> 3, 0x89, 0xc0 | (from & 7) << 3 | to & 7]);
    }

    /// `mov reg, [rsp + offset]`
    fn load_slot(&mut self, register: u8, offset: usize) {
        self.emit(&[0x48 | (register >> 3) << 2, 0x8b, 0x84 | (register & 7) << 3, 0x24]);
        self.emit_offset(offset);
    }

    /// `mov [rsp + offset], reg`
    fn store_slot(&mut self, offset: usize, register: u8) {
        self.emit(&[0x48 | (register >> 3) << 2, 0x89, 0x84 | (register & 7) << 3, 0x24]);
        self.emit_offset(offset);
    }

    /// Puts code and places where they were said to be.
    ///
    /// # Errors
    /// The system allows no code that is made at run time.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Self { base, code_size, code, places, places_size } = &self;
        assert!(code.len() <= *code_size && places.len() * size_of::<Place>() <= *places_size);
        let failed = |result: *mut c_void| {
            if result == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(result) }
        };
        let (read_write, fixed) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_FIXED);
        // SAFETY: a mapping with `MAP_FIXED` must replace nothing that is in use: these go over the one that
        // `reserve` made, within its size, which nobody has used so far. Copies stay within the new mappings,
        // since the sizes were checked above; no reference to these exists.
        unsafe {
            let file = libc::memfd_create(c"qmpi".as_ptr(), libc::MFD_CLOEXEC);
            let from_file = (|| {
                if libc::ftruncate(file, *code_size as libc::off_t) != 0 {
                    return Err(io::Error::last_os_error());
                }
                let open = failed(libc::mmap(
                    ptr::null_mut(),
                    *code_size,
                    read_write,
                    libc::MAP_SHARED,
                    file,
                    0,
                ))?;
                ptr::copy_nonoverlapping(code.as_ptr(), open.cast(), code.len());
                libc::munmap(open, *code_size);
                let execute = libc::PROT_READ | libc::PROT_EXEC;
                failed(libc::mmap(base.cast(), *code_size, execute, fixed, file, 0))
            })();
            libc::close(file);
            let anonymous = fixed | libc::MAP_ANONYMOUS;
            // Where files in memory cannot be executed, memory may be.
            if from_file.is_err() {
                failed(libc::mmap(base.cast(), *code_size, read_write, anonymous, -1, 0))?;
                ptr::copy_nonoverlapping(code.as_ptr(), *base, code.len());
                if libc::mprotect(base.cast(), *code_size, libc::PROT_READ | libc::PROT_EXEC) != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            let at = base.add(*code_size).cast();
            let to = failed(libc::mmap(at, *places_size, read_write, anonymous, -1, 0))?;
            ptr::copy_nonoverlapping(places.as_ptr(), to.cast(), places.len());
            libc::mprotect(to, *places_size, libc::PROT_READ);
        }
        Ok(())
    }
}
