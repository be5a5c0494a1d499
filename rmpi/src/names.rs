//! Values with names of their own, where C has plain integers.

use mpi_sys::c_int;

/// The tag of a message (MPI-5.0, 3.2.3): what distinguishes messages between two processes.
///
/// `ANY_TAG` is none, since it cannot be sent: see [`AnyTag`].
///
/// ```
/// use rmpi::Tag;
/// const RESULT: Tag = Tag::new(7);
/// assert_eq!(RESULT.value(), 7);
/// assert_eq!(Tag::default(), Tag::new(0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tag(c_int);

impl Tag {
    /// The tag of this number. MPI allows them up to
    /// [`tag_ub`](crate::Communicator::tag_ub), at least 32767; a call with a greater one is an
    /// error of class [`TAG`](crate::ErrorClass::TAG).
    pub const fn new(value: u32) -> Self {
        // Negative numbers have meanings, but no MPI has one for the least.
        if value > c_int::MAX as u32 { Self(c_int::MIN) } else { Self(value as c_int) }
    }

    /// The tag of C's number; `None` where it is none that a message can have, such as `MPI_ANY_TAG`.
    ///
    /// ```
    /// use rmpi::Tag;
    /// assert_eq!(Tag::from_raw(7), Some(Tag::new(7)));
    /// assert_eq!(Tag::from_raw(rmpi::mpi_sys::MPI_ANY_TAG), None);
    /// ```
    pub const fn from_raw(raw: c_int) -> Option<Self> {
        if raw < 0 { None } else { Some(Self(raw)) }
    }

    /// C's number.
    pub const fn into_raw(self) -> c_int {
        self.0
    }

    /// The tag's number.
    pub const fn value(self) -> i32 {
        self.0
    }
}

impl From<u16> for Tag {
    fn from(value: u16) -> Self {
        Self(value.into())
    }
}

/// `MPI_ANY_TAG`: what receives and probes may ask for in place of a [`Tag`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnyTag;

/// A [`Tag`], or [`AnyTag`]. Nothing else can be one: MPI has meanings of its own for other numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tag",
    label = "a `Tag` or `AnyTag` is needed here",
    note = "a number becomes a tag by `rmpi::Tag::new`, such as `Tag::new(0)`",
    note = "a receive that takes messages of any tag says `rmpi::AnyTag`"
)]
pub trait TagSelector: sealed::TagSelector {
    /// C's number.
    fn into_raw(self) -> c_int;
}

/// A [`Tag`]: what a message is sent with. [`AnyTag`] is none, since it is only for receives.
///
/// ```compile_fail,E0277
/// # fn example(to: rmpi::Process<'_>) -> rmpi::RmpiResult {
/// to.send(&1.0, 0)
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tag that a message can be sent with",
    label = "a `Tag` is needed here",
    note = "a number becomes a tag by `rmpi::Tag::new`, such as `Tag::new(0)`",
    note = "`AnyTag` is for receives: each message that is sent has one tag"
)]
pub trait MessageTag: TagSelector {}

impl MessageTag for Tag {}

mod sealed {
    use super::{AnyTag, Tag, c_int};

    pub trait TagSelector: Copy {
        /// C's number; `None` where it is too great to be a tag.
        fn number(self) -> Option<c_int>;
    }

    impl TagSelector for Tag {
        #[inline]
        fn number(self) -> Option<c_int> {
            (self.0 >= 0).then_some(self.0)
        }
    }

    impl TagSelector for AnyTag {
        #[inline]
        fn number(self) -> Option<c_int> {
            Some(mpi_sys::MPI_ANY_TAG)
        }
    }
}

impl TagSelector for Tag {
    fn into_raw(self) -> c_int {
        self.0
    }
}

impl TagSelector for AnyTag {
    fn into_raw(self) -> c_int {
        mpi_sys::MPI_ANY_TAG
    }
}

/// Values of an enumeration of MPI: `from_raw` and `into_raw`.
macro_rules! enumeration {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $constant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* #[doc = concat!(" (`", stringify!($constant), "`)")] $variant,)*
        }

        impl $name {
            /// What C's number says; `None` where the standard has no such value.
            pub const fn from_raw(raw: c_int) -> Option<Self> {
                match raw {
                    $(mpi_sys::$constant => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// C's number.
            pub const fn into_raw(self) -> c_int {
                match self {
                    $(Self::$variant => mpi_sys::$constant,)*
                }
            }
        }
    };
}

enumeration! {
    /// How two communicators or groups compare (MPI-5.0, 7.3.1 and 7.4.1).
    Comparison {
        /// The same object, or a group of the same order.
        Identical = MPI_IDENT,
        /// The same group in the same order, another context.
        Congruent = MPI_CONGRUENT,
        /// The same members in another order.
        Similar = MPI_SIMILAR,
        /// Other members.
        Unequal = MPI_UNEQUAL,
    }
}

enumeration! {
    /// What a communicator's topology is (MPI-5.0, 8.5.5).
    TopologyKind {
        /// Cartesian.
        Cartesian = MPI_CART,
        /// Graph.
        Graph = MPI_GRAPH,
        /// Distributed graph.
        DistGraph = MPI_DIST_GRAPH,
        /// None.
        Undefined = MPI_UNDEFINED,
    }
}

enumeration! {
    /// What a thread level is called where it is known only as the program runs.
    Level {
        /// One thread.
        Single = MPI_THREAD_SINGLE,
        /// The first of many.
        Funneled = MPI_THREAD_FUNNELED,
        /// One at a time.
        Serialized = MPI_THREAD_SERIALIZED,
        /// All.
        Multiple = MPI_THREAD_MULTIPLE,
    }
}
