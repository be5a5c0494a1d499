//! The symbols that an object exports, as its hash table has them.

use core::ffi::{CStr, c_char};

/// The symbols of an object, and the hash table by which the dynamic linker finds the exported ones.
pub(super) struct SymbolTable {
    pub(super) symbols: *mut libc::Elf64_Sym,
    pub(super) strings: *const c_char,
    /// Words of which two bits are set for each symbol's hash, by which most names that are not there are told at once.
    pub(super) bloom: *const u64,
    /// How many words these are, a power of two.
    pub(super) blooms: u32,
    /// Where in a hash the second bit's number is.
    pub(super) shift: u32,
    /// For each bucket the number of its first symbol; then for each symbol from `first` on its hash,
    /// whose lowest bit says that it is its bucket's last.
    pub(super) buckets: *const u32,
    pub(super) count: u32,
    pub(super) first: u32,
}

/// Which hashes there may be among a few: most others are told at once.
pub(crate) struct Filter([u64; Self::WORDS]);

impl Filter {
    const WORDS: usize = 1024;

    /// None.
    pub(crate) const EMPTY: Self = Self([0; Self::WORDS]);

    /// These, too.
    pub(crate) const fn with(mut self, hashes: &[u32]) -> Self {
        let mut index = 0;
        while index < hashes.len() {
            let [word, bit] = Self::place(hashes[index]);
            self.0[word] |= 1 << bit;
            index += 1;
        }
        self
    }

    /// The lowest bit is another thing's in the objects' tables.
    const fn place(hash: u32) -> [usize; 2] {
        let bit = (hash >> 1) as usize % (64 * Self::WORDS);
        [bit / 64, bit % 64]
    }

    #[inline]
    const fn may_have(&self, hash: u32) -> bool {
        let [word, bit] = Self::place(hash);
        self.0[word] >> bit & 1 != 0
    }
}

/// A name's hash in these tables.
pub(crate) const fn hash_of(name: &[u8]) -> u32 {
    let (mut hash, mut index) = (5381_u32, 0);
    while index < name.len() {
        hash = hash.wrapping_mul(33).wrapping_add(name[index] as u32);
        index += 1;
    }
    hash
}

impl SymbolTable {
    /// A symbol's section (0 of another object's), its kind (`st_info`), and its name. Its value is not read: `hide`
    /// writes it.
    ///
    /// # Safety
    /// The table has a symbol of this number. The object that it is of stays loaded as long as `self`.
    pub(super) unsafe fn symbol(&self, number: u32) -> (u16, u8, &CStr) {
        // SAFETY: the caller promises that the table has this symbol, and it is aligned there; by the ELF
        // format its name is the offset of a C string in the object's string table. Nobody writes to these
        // fields.
        unsafe {
            let symbol = self.symbols.add(number as usize);
            let name = CStr::from_ptr(self.strings.add((*symbol).st_name as usize));
            ((*symbol).st_shndx, (*symbol).st_info, name)
        }
    }

    /// May it have a symbol with this hash? If not, it has none.
    #[inline]
    fn may_have(&self, hash: u32) -> bool {
        let last = self.blooms.wrapping_sub(1);
        if last == u32::MAX {
            return true;
        }
        // SAFETY: the table has `blooms` words, a power of two: so the number's lowest bits are that of one of them.
        let word = unsafe { *self.bloom.add(((hash / 64) & last) as usize) };
        word >> (hash % 64) & 1 != 0 && word >> (hash.wrapping_shr(self.shift) % 64) & 1 != 0
    }

    /// Visits the names of the symbols with a hash and a section, as far as a filter has them.
    pub(super) fn each_defined(&self, filter: &Filter, mut visit: impl FnMut(&CStr)) {
        // SAFETY: the table has `count` buckets, which are never written.
        let buckets = unsafe { core::slice::from_raw_parts(self.buckets, self.count as usize) };
        let Some(last) = buckets.iter().copied().max().filter(|last| *last >= self.first) else {
            return;
        };
        for number in self.first.. {
            // SAFETY: symbols from `first` on have hashes, up to the end of the bucket that begins last, behind which this does
            // not go.
            let hash = unsafe {
                *self.buckets.add(self.count as usize).add((number - self.first) as usize)
            };
            if filter.may_have(hash) {
                // SAFETY: a symbol that has a hash is in the table.
                let (section, _, name) = unsafe { self.symbol(number) };
                if section != 0 {
                    visit(name);
                }
            }
            if number >= last && hash & 1 != 0 {
                return;
            }
        }
    }

    pub(super) fn find(&self, name: &CStr) -> Option<*mut libc::Elf64_Sym> {
        let hash = hash_of(name.to_bytes());
        self.find_hashed(hash, || name.to_bytes_with_nul())
    }

    /// The same of a name that has this hash: its bytes with the NUL.
    pub(super) fn find_hashed<'n>(
        &self,
        hash: u32,
        name: impl Fn() -> &'n [u8],
    ) -> Option<*mut libc::Elf64_Sym> {
        if !self.may_have(hash) {
            return None;
        }
        let bucket = hash.checked_rem(self.count)?;
        // SAFETY: the table has `count` buckets, and the remainder of a division by `count` is below that.
        let mut number = unsafe { *self.buckets.add(bucket as usize) };
        while number >= self.first {
            // SAFETY: a number in a bucket that is not below `first` is of a symbol that the table has, with
            // a hash. Those of a bucket follow each other up to one that is marked as the last, behind which
            // this does not go.
            let (here, text) = unsafe {
                let hashes = self.buckets.add(self.count as usize);
                let symbol = self.symbols.add(number as usize);
                let text = self.strings.add((*symbol).st_name as usize);
                (*hashes.add((number - self.first) as usize), text)
            };
            // SAFETY: a C string must be there, as names in the object's string table are, which stays as long as the object.
            let text = || unsafe { CStr::from_ptr(text) };
            if (here ^ hash) >> 1 == 0 && text().to_bytes_with_nul() == name() {
                // SAFETY: the symbol of this number was read just now: its entry is inside of the table.
                return Some(unsafe { self.symbols.add(number as usize) });
            }
            if here & 1 != 0 {
                return None;
            }
            number += 1;
        }
        None
    }
}
