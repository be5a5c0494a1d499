//! Two layers as one.
//!
//! A raw method of the chain calls the upper layer's, with a next function that calls the lower
//! layer's, with the chain's own next function. What the upper layer calls through its table
//! ([`UnsafeBox::table`]) must pass the lower one as well: its table is an [`Over`], whose
//! functions are the lower layer's methods.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use mpi_sys::{mpi_functions, *};

use crate::{
    AnyLog, AnyTable, Compiled, Counter, Counters, FunctionId, NextFunctions, NextTable, PeerTable,
    RawMpiInterceptionLayer, RunningMpi, Setting, SettingDefault, Settings, Tool, UnsafeBox,
    launched_rank, say,
};

/// The first layer above the second: the first sees a call of the application first, and its next
/// functions are the second's methods. So a call that the first answers itself the second does not
/// see, and calls that the first makes instead it sees as the application's.
///
/// Either layer may be raw or high-level, or a chain itself. Of two [tools](Tool) the chain is a
/// tool, with the [settings](Tool::SETTINGS) and counters of both.
///
/// For parts of one tool. Tools that users combine are preloaded one after the other, or are levels
/// of a stack, and report each for itself.
#[derive(Debug)]
pub struct LayerChain<A, B>(pub A, pub B);

/// What layer `B` makes of the functions below it: the next functions of the layer above.
struct Over<'a, B> {
    /// The lower layer.
    layer: &'a B,
    /// What is below both.
    below: &'a dyn NextFunctions,
}

/// The chain's methods and the upper layer's next functions, one for each MPI function.
macro_rules! chain {
    ([] $($c_name:ident $name:ident $class:ident $version:literal $tum:tt
        ($($arg:ident: $ty:ty = $dir:ident $kind:ident $([$len:tt])? $($root:ident)?),*) -> $ret:ty;)*
    ) => {
        impl<B: RawMpiInterceptionLayer> NextFunctions for Over<'_, B> {
            fn entries(&self) -> &NextTable {
                self.below.entries()
            }

            $(
                unsafe fn $name(&self, $($arg: $ty),*) -> $ret {
                    let below = self.below;
                    // SAFETY: the caller of this unsafe function promises that the arguments are as
                    // the MPI standard asks of the function. The next function below is the same
                    // one, and gets what the lower layer makes of them.
                    let next = move |$($arg: $ty),*| unsafe { below.$name($($arg),*) };
                    // SAFETY: `new` wants the arguments of a call: the caller promises them.
                    let next_f = unsafe { UnsafeBox::new(next, below) };
                    self.layer.$name(next_f, $($arg),*)
                }
            )*
        }

        // SAFETY: a layer must do what the standard says of each function. The upper layer does, if
        // its next functions do; these are the lower layer's methods, which do, over the chain's
        // own next functions.
        unsafe impl<A: RawMpiInterceptionLayer, B: RawMpiInterceptionLayer> RawMpiInterceptionLayer
            for LayerChain<A, B>
        {
            const COMPILED: Compiled = A::COMPILED.and(B::COMPILED);
            const AROUND: &'static [bool; FunctionId::COUNT] = &crate::functions!(
                |function| A::AROUND[function as usize] || B::AROUND[function as usize]
            );
            const SEES_RAW: bool = A::SEES_RAW || B::SEES_RAW;

            $(
                #[inline(always)]
                fn $name<F>(&self, next_f: UnsafeBox<'_, F>, $($arg: $ty),*) -> $ret
                where
                    F: FnOnce($($ty),*) -> $ret,
                {
                    let over = Over { layer: &self.1, below: next_f.table() };
                    let next = |$($arg: $ty),*| self.1.$name(next_f, $($arg),*);
                    // SAFETY: `new` wants the arguments of a call: they are those of the box that this
                    // method was called with.
                    let next_f = unsafe { UnsafeBox::new(next, &over) };
                    self.0.$name(next_f, $($arg),*)
                }
            )*
        }
    };
}
mpi_functions! { [chain] }

/// Two tools as one, which has the settings of both and reports what both have counted: the first
/// one's counters, then the second one's. Both are configured, each from the same settings, so two
/// settings of one name are one value. Both hear when MPI starts and ends, the first one first. A tool has one table and one
/// log: if both have one, the first one's is reported, and a line says so.
impl<A: Tool, B: Tool> Tool for LayerChain<A, B> {
    const NEW: Self = LayerChain(A::NEW, B::NEW);

    const SETTINGS: &'static [Setting] = {
        let joined: &'static [Setting] = &Self::SETTINGS_AND_MORE;
        joined.split_at(A::SETTINGS.len() + B::SETTINGS.len()).0
    };

    fn configure(&self, settings: &Settings) {
        self.0.configure(settings);
        self.1.configure(settings);
    }

    fn counters(&self) -> Option<&dyn Counters> {
        match (self.0.counters(), self.1.counters()) {
            (Some(_), Some(_)) => Some(self),
            (one, other) => one.or(other),
        }
    }

    fn table(&self) -> Option<&AnyTable> {
        let (one, other) = (self.0.table(), self.1.table());
        if one.is_some() && other.is_some() {
            say_that_there_are_two("table");
        }
        one.or(other)
    }

    fn log(&self) -> Option<&AnyLog> {
        let (one, other) = (self.0.log(), self.1.log());
        if one.is_some() && other.is_some() {
            say_that_there_are_two("log");
        }
        one.or(other)
    }

    fn started(&self, mpi: &RunningMpi) {
        self.0.started(mpi);
        self.1.started(mpi);
    }

    fn ending(&self, mpi: &RunningMpi) {
        self.0.ending(mpi);
        self.1.ending(mpi);
    }

    const ENDS: Option<fn(&Self, &'static str)> = match (A::ENDS, B::ENDS) {
        (None, None) => None,
        _ => Some(|chain, how| {
            if let Some(ends) = A::ENDS {
                ends(&chain.0, how);
            }
            if let Some(ends) = B::ENDS {
                ends(&chain.1, how);
            }
        }),
    };

    fn peers(&self) -> Option<&PeerTable> {
        // Those of the layer whose table it is.
        if self.0.table().is_some() { self.0.peers() } else { self.1.peers() }
    }
}

#[cold]
fn say_that_there_are_two(what: &str) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if launched_rank().unwrap_or(0) == 0 && !SAID.swap(true, Relaxed) {
        say(format_args!(
            "a LayerChain of two layers with a {what} each reports the first one's only: make them two tools"
        ));
    }
}

/// How many settings the tools of a chain may have together. More do not compile.
const MOST_SETTINGS: usize = 64;

impl<A: Tool, B: Tool> LayerChain<A, B> {
    /// The settings of both, in an array whose length does not depend on the tools: a constant's
    /// length cannot. What is behind them is empty.
    const SETTINGS_AND_MORE: [Setting; MOST_SETTINGS] = {
        let none = Setting { name: "", default: SettingDefault::Text(""), help: "" };
        let (mut joined, mut index) = ([none; MOST_SETTINGS], 0);
        let (one, other) = (A::SETTINGS, B::SETTINGS);
        assert!(
            one.len() + other.len() <= MOST_SETTINGS,
            "the tools of a chain have too many settings"
        );
        while index < one.len() + other.len() {
            let from_one = index < one.len();
            joined[index] = if from_one { one[index] } else { other[index - one.len()] };
            index += 1;
        }
        joined
    };

    /// The counters of the layer that has a counter, and its number there: the first one's numbers
    /// come first.
    fn counters_of(&self, index: usize) -> Option<(&dyn Counters, usize)> {
        let first = self.0.counters()?;
        match index.checked_sub(first.len()) {
            None => Some((first, index)),
            Some(index) => Some((self.1.counters()?, index)),
        }
    }

    /// The unit that both count in, if it is one. If not, each counter says its own.
    fn common_unit(&self) -> Option<&'static str> {
        let (one, other) = (self.0.counters()?.unit(), self.1.counters()?.unit());
        (one == other).then_some(one)
    }
}

/// The counters of two tools, where both have some.
impl<A: Tool, B: Tool> Counters for LayerChain<A, B> {
    fn unit(&self) -> &'static str {
        self.common_unit().unwrap_or("several units")
    }

    fn len(&self) -> usize {
        [self.0.counters(), self.1.counters()].into_iter().flatten().map(Counters::len).sum()
    }

    fn name(&self, index: usize) -> &'static str {
        self.counters_of(index).map_or("", |(counters, index)| counters.name(index))
    }

    fn class(&self, index: usize) -> &'static str {
        self.counters_of(index).map_or("", |(counters, index)| counters.class(index))
    }

    fn unit_of(&self, index: usize) -> Option<&'static str> {
        let (counters, index) = self.counters_of(index)?;
        let own = counters.unit_of(index);
        if self.common_unit().is_some() { own } else { own.or(Some(counters.unit())) }
    }

    fn is_gauge(&self, index: usize) -> bool {
        self.counters_of(index).is_some_and(|(counters, index)| counters.is_gauge(index))
    }

    fn counter(&self, index: usize) -> Counter<'_> {
        static NOTHING: AtomicU64 = AtomicU64::new(0);
        match self.counters_of(index) {
            Some((counters, index)) => counters.counter(index),
            None => Counter::from(&NOTHING),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadCounters;

    /// Counts nothing by itself: two counters, of a name and a unit.
    struct Counting<const BYTES: bool>(ThreadCounters<2>);

    // SAFETY: A layer must do what the standard says of each function: this one overrides nothing,
    // so every call goes on as it came.
    unsafe impl<const BYTES: bool> RawMpiInterceptionLayer for Counting<BYTES> {}

    impl<const BYTES: bool> Counters for Counting<BYTES> {
        fn unit(&self) -> &'static str {
            if BYTES { "bytes" } else { "calls" }
        }
        fn len(&self) -> usize {
            2
        }
        fn name(&self, index: usize) -> &'static str {
            [["a", "b"], ["c", "d"]][usize::from(BYTES)][index]
        }
        fn class(&self, _: usize) -> &'static str {
            "x"
        }
        fn counter(&self, index: usize) -> Counter<'_> {
            self.0.counter(index)
        }
    }

    impl<const BYTES: bool> Tool for Counting<BYTES> {
        const NEW: Self = Self(ThreadCounters::new());
        const SETTINGS: &'static [Setting] = &[Setting {
            name: if BYTES { "ONE" } else { "OTHER" },
            default: SettingDefault::Number(1),
            help: "a number",
        }];
        fn counters(&self) -> Option<&dyn Counters> {
            Some(self)
        }
    }

    /// Has no counters.
    struct Silent;
    // SAFETY: a layer must do what the standard says of each function: this one overrides nothing,
    // so every call goes on as it came.
    unsafe impl RawMpiInterceptionLayer for Silent {}
    impl Tool for Silent {
        const NEW: Self = Silent;
    }

    /// Name, unit and value of each counter, as a report would have them.
    fn rows(tool: &impl Tool) -> Vec<(&'static str, Option<&'static str>, u64)> {
        let counters = tool.counters().unwrap();
        let row = |at| (counters.name(at), counters.unit_of(at), counters.counter(at).value());
        (0..counters.len()).map(row).collect()
    }

    #[test]
    fn a_chain_reports_what_both_layers_have_counted() {
        let chain: LayerChain<Counting<false>, Counting<true>> = Tool::NEW;
        chain.0.0.add(1, 2);
        chain.1.0.add(0, 3);
        let (calls, bytes) = (Some("calls"), Some("bytes"));
        assert_eq!(
            rows(&chain),
            [("a", calls, 0), ("b", calls, 2), ("c", bytes, 3), ("d", bytes, 0)]
        );
        let same: LayerChain<Counting<true>, Counting<true>> = Tool::NEW;
        assert_eq!(rows(&same).len(), 4);
        assert!(rows(&same).iter().all(|(_, unit, _)| unit.is_none()));
        assert_eq!(same.counters().unwrap().unit(), "bytes");
    }

    #[test]
    fn a_chain_of_one_that_counts_reports_that_one() {
        let chain: LayerChain<LayerChain<Silent, Silent>, Counting<true>> = Tool::NEW;
        chain.1.0.add(0, 3);
        assert_eq!(rows(&chain), [("c", None, 3), ("d", None, 0)]);
        let none: LayerChain<Silent, Silent> = Tool::NEW;
        assert!(none.counters().is_none());
    }

    #[test]
    fn a_chain_has_the_settings_of_both_layers() {
        type Three = LayerChain<Counting<false>, LayerChain<Silent, Counting<true>>>;
        let names: Vec<_> = <Three as Tool>::SETTINGS.iter().map(|setting| setting.name).collect();
        assert_eq!(names, ["OTHER", "ONE"]);
    }
}
