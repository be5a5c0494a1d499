//! What a blocking call needs to return.

/// From whom to whom a message goes, by ranks of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Its communicator's.
    pub identity: u64,
    /// Who sends.
    pub source: u32,
    /// Who receives.
    pub target: u32,
    /// The message's tag.
    pub tag: i64,
}

/// What a receive asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Its communicator's.
    pub identity: u64,
    /// `None` for anybody.
    pub source: Option<u32>,
    /// `None` for any.
    pub tag: Option<i64>,
}

impl Wanted {
    /// Is it one that may get messages of several channels?
    pub fn is_open(self) -> bool {
        self.source.is_none() || self.tag.is_none()
    }

    /// May a receive of a rank that asks for this get a message?
    pub fn is_met_by(self, message: &Channel, rank: usize) -> bool {
        message.target as usize == rank
            && message.identity == self.identity
            && self.source.is_none_or(|source| source == message.source)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// All targets of a window.
const ALL: u64 = u64::MAX;

/// A lock of a target of a window, or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    /// The window's identity.
    pub window: u64,
    target: u64,
    /// It excludes all others.
    pub is_exclusive: bool,
}

impl Lock {
    /// `target`: `None` for all.
    #[inline]
    pub fn new(window: u64, target: Option<u32>, is_exclusive: bool) -> Self {
        Self { window, target: Self::word_of(target), is_exclusive }
    }

    /// The word for a target.
    #[inline]
    pub fn word_of(target: Option<u32>) -> u64 {
        target.map_or(ALL, u64::from)
    }

    /// As three words.
    #[inline]
    pub fn to_words(self) -> [u64; 3] {
        [self.window, self.target, self.is_exclusive.into()]
    }

    /// From what [`Lock::to_words`] has made.
    #[inline]
    pub fn from_words([window, target, is_exclusive]: [u64; 3]) -> Self {
        Self { window, target, is_exclusive: is_exclusive != 0 }
    }

    /// Can nobody have it while somebody else has the other one?
    pub fn excludes(self, other: Self) -> bool {
        self.window == other.window
            && (self.target == other.target || self.target == ALL || other.target == ALL)
            && (self.is_exclusive || other.is_exclusive)
    }
}

/// What a call needs to return. A communicator, a window or a file is named by its identity: a number that all its processes have
/// for it, and that no other one has. The collective operations on it are counted from 1, by each process for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing, or nobody knows.
    Nothing,
    /// A message.
    Message(Wanted),
    /// Somebody who receives a message, by its key.
    Receiver {
        /// The message's.
        key: u64,
        /// Who must receive it.
        target: u32,
    },
    /// All others in a collective operation, or its root.
    Collective {
        /// The communicator's.
        identity: u64,
        /// The operation's.
        number: u64,
        /// Whose data are enough.
        root: Option<u32>,
    },
    /// No data, or nobody knows whether any: but all others must call the collective operation before they are through.
    Attendance {
        /// The communicator's.
        identity: u64,
        /// The operation's.
        number: u64,
    },
    /// A rank that posts a window so often.
    Post {
        /// Of the window and the two ranks.
        key: u64,
        /// How often in all.
        count: u64,
        /// Who posts.
        rank: u32,
    },
    /// A rank that completes its epoch with this one so often.
    Completion {
        /// Of the window and the two ranks.
        key: u64,
        /// How often in all.
        count: u64,
        /// Who completes.
        rank: u32,
    },
    /// A rank that comes to a collective operation.
    Entered {
        /// The communicator's.
        identity: u64,
        /// The operation's.
        number: u64,
        /// Who comes.
        rank: u32,
    },
    /// All who have locked a target of a window, or all of them, in a way that excludes this lock.
    Unlocked(Lock),
    /// Partitions that are not ready, which only this process can make ready.
    Unready,
    /// All processes of the group that this one's group meets in its call of a number.
    OtherGroup {
        /// Of this one's group.
        identity: u64,
        /// The call's.
        number: u64,
    },
}

impl Need {
    /// As a kind and three words.
    #[inline]
    pub fn to_words(self) -> (u32, [u64; 3]) {
        match self {
            Self::Nothing => (0, [0; 3]),
            Self::Message(Wanted { identity, source, tag }) => {
                let source = source.map_or(u64::MAX, u64::from);
                (1, [identity, source, tag.map_or(u64::MAX, |tag| tag as u64)])
            }
            Self::Receiver { key, target } => (2, [key, target.into(), 0]),
            Self::Collective { identity, number, root } => {
                (3, [identity, number, root.map_or(u64::MAX, u64::from)])
            }
            Self::Post { key, count, rank } => (4, [key, count, rank.into()]),
            Self::Completion { key, count, rank } => (5, [key, count, rank.into()]),
            Self::Entered { identity, number, rank } => (6, [identity, number, rank.into()]),
            Self::Unlocked(lock) => (7, lock.to_words()),
            Self::Unready => (8, [0; 3]),
            Self::OtherGroup { identity, number } => (9, [identity, number, 0]),
            Self::Attendance { identity, number } => (10, [identity, number, 0]),
        }
    }

    /// From what [`Need::to_words`] has made.
    #[inline]
    pub fn from_words(kind: u32, [one, two, three]: [u64; 3]) -> Self {
        match kind {
            1 => Self::Message(Wanted {
                identity: one,
                source: (two != u64::MAX).then_some(two as u32),
                tag: (three != u64::MAX).then_some(three as i64),
            }),
            2 => Self::Receiver { key: one, target: two as u32 },
            3 => Self::Collective {
                identity: one,
                number: two,
                root: (three != u64::MAX).then_some(three as u32),
            },
            4 => Self::Post { key: one, count: two, rank: three as u32 },
            5 => Self::Completion { key: one, count: two, rank: three as u32 },
            6 => Self::Entered { identity: one, number: two, rank: three as u32 },
            7 => Self::Unlocked(Lock::from_words([one, two, three])),
            8 => Self::Unready,
            9 => Self::OtherGroup { identity: one, number: two },
            10 => Self::Attendance { identity: one, number: two },
            _ => Self::Nothing,
        }
    }
}
