//! Numbers by handles, read without a lock: what each call of the application asks for.

use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::OnceLock;

/// So many values of handles can be kept. MPI uses the values of freed handles again, so they do not become more and
/// more.
const PLACES: usize = 1 << 13;

/// So many places are looked at for a handle.
const REACH: usize = 64;

/// A hash table from handles to numbers. A handle that is taken out keeps its place, without a number, so that nobody
/// who looks for another one stops there.
#[derive(Debug)]
pub(super) struct Handles(OnceLock<Box<[Place]>>);

/// A handle, 0 if the place is free, and its number, 0 if there is none.
#[derive(Debug, Default)]
struct Place {
    handle: AtomicU64,
    number: AtomicU32,
}

/// The places where a handle may be, in the order in which they are looked at.
#[inline(always)]
fn places(all: &[Place], handle: u64) -> impl Iterator<Item = &Place> {
    // Handles are numbers in a row or addresses.
    let at = (handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51) as usize;
    (at..at + REACH).filter_map(move |at| all.get(at % PLACES))
}

impl Handles {
    /// None, and no memory for any.
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The number of a handle, if it has one.
    #[inline(always)]
    pub(super) fn get(&self, handle: u64) -> Option<u32> {
        for place in places(self.0.get()?, handle) {
            match place.handle.load(Acquire) {
                0 => return None,
                other if other == handle => {
                    return Some(place.number.load(Acquire)).filter(|number| *number != 0);
                }
                _ => {}
            }
        }
        None
    }

    /// The same, if it is where it is first looked for.
    #[inline(always)]
    pub(super) fn first(&self, handle: u64) -> Option<u32> {
        let place = places(self.0.get()?, handle).next()?;
        let is_it = place.handle.load(Acquire) == handle;
        let number = place.number.load(Acquire);
        (is_it && number != 0).then_some(number)
    }

    /// Gives a handle a number, or another one. Where there is no place, it gets none.
    pub(super) fn insert(&self, handle: u64, number: u32) {
        let all = self.0.get_or_init(|| (0..PLACES).map(|_| Place::default()).collect());
        for place in places(all, handle).filter(|_| handle != 0) {
            let here = place.handle.compare_exchange(0, handle, AcqRel, Acquire);
            if here.is_ok() || here == Err(handle) {
                place.number.store(number, Release);
                return;
            }
        }
    }

    /// Takes out the number of a handle.
    pub(super) fn remove(&self, handle: u64) -> Option<u32> {
        let all = self.0.get()?;
        let place = places(all, handle).find(|place| place.handle.load(Relaxed) == handle)?;
        Some(place.number.swap(0, AcqRel)).filter(|number| *number != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MPICH has them, and as Open MPI has them.
    #[test]
    fn numbers_are_found_until_they_are_taken_out() {
        let handles = Handles::new();
        assert_eq!((handles.get(7), handles.remove(7)), (None, None));
        let all: Vec<u64> = (0..500)
            .map(|number| 0xffff_ffff_8400_0000 + number)
            .chain((0..500).map(|number| 0x5555_0000_1000 + number * 512))
            .collect();
        for round in 1..4 {
            for (number, handle) in (round..).zip(&all) {
                handles.insert(*handle, number);
            }
            for (number, handle) in (round..).zip(&all) {
                assert_eq!(handles.get(*handle), Some(number));
                assert!(handles.first(*handle).is_none_or(|first| first == number));
            }
            for (number, handle) in (round..).zip(&all) {
                assert_eq!(handles.remove(*handle), Some(number));
                assert_eq!((handles.get(*handle), handles.remove(*handle)), (None, None));
            }
        }
    }

    #[test]
    fn too_many_are_not_found_and_none_is_wrong() {
        let handles = Handles::new();
        let all = (1..=2 * PLACES as u32).map(|number| (u64::from(number) << 8, number));
        all.clone().for_each(|(handle, number)| handles.insert(handle, number));
        let found = all.filter(|(handle, number)| {
            handles.get(*handle).inspect(|found| assert_eq!(found, number)).is_some()
        });
        let found = found.count();
        assert!((PLACES / 2..=PLACES).contains(&found), "{found}");
        handles.insert(0, 1);
        assert_eq!(handles.get(0), None);
    }
}
