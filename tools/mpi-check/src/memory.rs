//! What is in the application's memory: copied by the kernel, so that memory that is gone is no fault of the checker's.

use mpi_tool_layer::copy_memory;

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
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |from: u64, to: u64| {
        let mut at = from;
        while at < to {
            let mut piece = [0; 1024];
            let length = piece.len().min((to - at) as usize);
            let bytes = copy_memory(at, &mut piece[..length])?;
            for word in bytes.chunks(8) {
                let mut whole = [0; 8];
                whole[..word.len()].copy_from_slice(word);
                let word = u64::from_ne_bytes(whole);
                hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
            }
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
    Some(hash)
}
