//! What functions are about.

use core::fmt;

/// Declares an enum whose variants have a name for people.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The name in reports.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

named! {
    /// What a function is about; the chapters of MPI-5.0, the large ones divided.
    FunctionClass {
        /// Sends, receives and probes, persistent ones too (chapter 3).
        PointToPoint = "point-to-point",
        /// Completion, start and cancellation of requests (3.7, 3.9).
        Completion = "completion",
        /// What a status tells (3.2.5).
        Status = "status",
        /// Buffers of buffered sends (3.6).
        Buffering = "buffering",
        /// Partitioned communication (chapter 4).
        Partitioned = "partitioned",
        /// Datatypes, packing, addresses (chapter 5).
        Datatype = "datatype",
        /// Collective communication (chapter 6).
        Collective = "collective",
        /// Reduction operations (6.9).
        Operation = "operation",
        /// Groups (7.3).
        Group = "group",
        /// Communicators (7.4, 7.6).
        Communicator = "communicator",
        /// Keyvals and attributes (7.7).
        Attribute = "attribute",
        /// Virtual topologies (chapter 8).
        Topology = "topology",
        /// Neighbourhood collectives (8.6).
        Neighborhood = "neighborhood",
        /// Versions, clocks, memory, the ABI (chapters 9, 15, 20).
        Environment = "environment",
        /// Error handlers, classes and codes (9.3 to 9.5).
        ErrorHandling = "error handling",
        /// Info objects (chapter 10).
        Info = "info",
        /// Start and end, sessions, spawn and connect (chapter 11).
        Process = "process",
        /// Windows and one-sided communication (chapter 12).
        OneSided = "one-sided",
        /// Generalized requests (13.2).
        GeneralizedRequest = "generalized request",
        /// Files (chapter 14).
        Io = "I/O",
        /// The tool information interface (15.3).
        ToolInterface = "tool interface",
        /// Handles between languages (chapters 19, 20).
        Conversion = "conversion",
    }
}
