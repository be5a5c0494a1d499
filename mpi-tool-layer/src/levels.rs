//! A tool's levels in a stack that others made.

use core::ffi::{CStr, c_int};
use core::ptr;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, RwLock};

use crate::Tool;
use crate::level::Level;
use crate::qmpi::{Instance, LEVELS};

/// The instances of a tool in a stack that others made, by level: TUM's, or MPICH's.
///
/// The first ones are found by their number. Stacks with more levels are not known; they are
/// found in a map, so that two levels never share a state.
pub struct TumLevels<L: 'static> {
    first: [AtomicPtr<Instance<L>>; TumLevels::<()>::COUNT],
    others: RwLock<BTreeMap<usize, &'static Instance<L>>>,
}

impl<L> TumLevels<L> {
    const COUNT: usize = 1024;
}

impl<L: Tool> TumLevels<L> {
    /// None yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self {
            first: [const { AtomicPtr::new(ptr::null_mut()) }; TumLevels::<()>::COUNT],
            others: RwLock::new(BTreeMap::new()),
        }
    }

    /// The instance of a level, which is made at its first call.
    #[inline(always)]
    pub fn get(&self, level: c_int, own: &'static Level) -> &Instance<L> {
        let index = level as usize;
        let known = self.first.get(index);
        // SAFETY: null, or an instance, which is never freed.
        match known.and_then(|known| unsafe { known.load(Acquire).as_ref() }) {
            Some(instance) => instance,
            None => self.find_or_make(index, own),
        }
    }

    /// The instance of a level that is there.
    fn find(&self, index: usize) -> Option<&'static Instance<L>> {
        match self.first.get(index) {
            // SAFETY: null, or an instance, which is never freed.
            Some(first) => unsafe { first.load(Acquire).as_ref() },
            None => self.others.read().unwrap_or_else(PoisonError::into_inner).get(&index).copied(),
        }
    }

    #[cold]
    fn find_or_make(&self, index: usize, own: &'static Level) -> &Instance<L> {
        static MAKING: Mutex<()> = Mutex::new(());
        if let Some(instance) = self.find(index) {
            return instance;
        }
        let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        if let Some(instance) = self.find(index) {
            return instance;
        }
        own.silence();
        let (tool, version) = own.tool_and_version();
        let first = LEVELS.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        let mut label = std::ffi::CString::new(tool).unwrap_or_default();
        if !first {
            label = std::ffi::CString::new(format!("{tool}-{index}")).unwrap_or_default();
        }
        let label: &'static CStr = Box::leak(label.into_boxed_c_str());
        let instance = Instance::<L>::create(tool, version, label, &[], first);
        match self.first.get(index) {
            Some(first) => first.store(ptr::from_ref(instance).cast_mut(), Release),
            None => {
                let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
                others.insert(index, instance);
            }
        }
        instance
    }
}
