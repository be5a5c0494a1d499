//! What is in the application's memory: copied by the kernel, so that memory that is gone is no fault of the checker's.

use core::ffi::c_void;

use mpi_tool_layer::{Word as _, copy_memory};

use crate::layouts::Layout;

/// May this process's checker read what programs send? Not where it may be in the memory of a graphics processor.
fn may_read() -> bool {
    use std::sync::OnceLock;
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        !["libcuda", "libamdhip", "libhsa-runtime", "libze_loader"]
            .iter()
            .any(|name| maps.contains(name))
    })
}

/// Beginnings of the names of files that MPIs and what they use map, so that processes share memory.
const OF_MPI: [&str; 9] =
    ["mpich_", "ucx_", "SYSV", "sm_segment", "vader_segment", "osc_", "pmix", "psm", "Intel_MPI"];

/// Has the program mapped a file by which it may tell other processes something without MPI?
pub(crate) fn has_shared_file() -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().any(|line| {
        let Some(at) = line.find('/') else { return false };
        let (rights, path) = (line[..at].split(' ').nth(1), &line[at..]);
        let name = path.trim_end_matches(" (deleted)");
        let name = name.rsplit('/').next().unwrap_or(name);
        let is_of_mpi = OF_MPI.iter().any(|known| name.starts_with(known))
            || name.ends_with(".check")
            || ["/ompi", "/mpi-tool-", "/dev/infiniband", "/dev/nvidia", "/memfd:"]
                .iter()
                .any(|known| path.contains(known));
        rights.is_some_and(|rights| rights.starts_with("rw-s")) && !is_of_mpi
    })
}

/// How much of a buffer is looked at, at its beginning and at its end.
const LOOKED_AT: u64 = 16 * 1024;

/// A number that changes when the memory does; `None` if it cannot be read.
pub(crate) fn checksum(begin: u64, end: u64) -> Option<u64> {
    if !may_read() {
        return None;
    }
    let mut hash = Hash::NEW;
    let mut take = |from: u64, to: u64| {
        let mut at = from;
        while at < to {
            let mut piece = [0; 1024];
            let length = piece.len().min((to - at) as usize);
            hash.add(copy_memory(at, &mut piece[..length])?);
            at += length as u64;
        }
        Some(())
    };
    if end - begin <= 2 * LOOKED_AT {
        take(begin, end)?;
    } else {
        take(begin, begin + LOOKED_AT)?;
        take(end - LOOKED_AT, end)?;
    }
    Some(hash.0)
}

/// A number that tells bytes apart.
struct Hash(u64);

impl Hash {
    const NEW: Self = Self(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let mut whole = [0; 8];
            whole[..word.len()].copy_from_slice(word);
            let word = u64::from_ne_bytes(whole);
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

/// How many blocks of data with gaps are looked at, of those at the beginning and of those at the end.
const BLOCKS: u64 = 128;

/// The same of data with gaps, which lie between two addresses. The gaps do not count.
pub(crate) fn checksum_of(layout: &Layout, begin: u64, end: u64) -> Option<u64> {
    if !may_read() {
        return None;
    }
    let mut hash = Hash::NEW;
    if end - begin <= 2 * LOOKED_AT && layout.size() <= 2 * LOOKED_AT {
        let mut all = vec![0; (end - begin) as usize];
        if copy_memory(begin, &mut all).is_some() {
            for (at, length) in layout.blocks() {
                let from = usize::try_from(at - begin as i64).ok()?;
                hash.add(all.get(from..from.checked_add(length as usize)?)?);
            }
            return Some(hash.0);
        }
    }
    let count = layout.count();
    let (first, last) = (count.min(BLOCKS), count.saturating_sub(BLOCKS).min(BLOCKS));
    let mut blocks: Vec<(i64, u64)> = Vec::new();
    let mut left = LOOKED_AT;
    for (at, length) in layout.blocks().take(first as usize) {
        blocks.push((at, length.min(left)));
        left -= length.min(left);
    }
    left = LOOKED_AT;
    for (at, length) in layout.blocks().rev().take(last as usize) {
        let looked_at = length.min(left);
        blocks.push((at + (length - looked_at) as i64, looked_at));
        left -= looked_at;
    }
    blocks.retain(|(_, length)| *length > 0);
    let size: u64 = blocks.iter().map(|(_, length)| length).sum();
    let mut all = vec![0; size as usize];
    copy_blocks(&blocks, &mut all)?;
    hash.add(&all);
    Some(hash.0)
}

/// Copies blocks one after the other to a place that has exactly their size, if they are there.
fn copy_blocks(blocks: &[(i64, u64)], to: &mut [u8]) -> Option<()> {
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let remote: Vec<_> = blocks
        .iter()
        .map(|(at, length)| libc::iovec {
            iov_base: <*mut c_void>::from_word(*at as u64),
            iov_len: *length as usize,
        })
        .collect();
    // SAFETY: `process_vm_readv` takes two lists of `iovec`s, which these are, with their lengths, and memory to write to:
    // `to`, of which it writes its length at most. The addresses that it reads from the kernel checks itself.
    let copied = unsafe {
        libc::process_vm_readv(libc::getpid(), &local, 1, remote.as_ptr(), remote.len() as u64, 0)
    };
    (usize::try_from(copied) == Ok(to.len())).then_some(())
}
