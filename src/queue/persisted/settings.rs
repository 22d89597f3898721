//! What can be set for a pipeline's queue on disk.

use std::path::PathBuf;

/// When the source of an event hears that it is safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Once the kernel has it: a crash of the program loses nothing, a power cut what came after the last checkpoint.
    #[default]
    Kernel,
    /// Once the disk has it.
    Disk,
}

/// How new elements are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Plain; what is compressed is read.
    #[default]
    None,
    /// Fast.
    Speed,
    /// In between.
    Balanced,
    /// Small.
    Size,
    /// Plain, and what is compressed is not read.
    Disabled,
}

impl Compression {
    /// The choice of that name in `queue.compression`; plain for any other.
    pub fn parse(name: &str) -> Self {
        match name {
            "speed" => Self::Speed,
            "balanced" => Self::Balanced,
            "size" => Self::Size,
            "disabled" => Self::Disabled,
            _ => Self::None,
        }
    }

    /// The level of zstd and the goal that statistics name, when it compresses.
    pub fn level(self) -> Option<(i32, &'static str)> {
        match self {
            Self::None | Self::Disabled => None,
            Self::Speed => Some((-1, "speed")),
            Self::Balanced => Some((3, "balanced")),
            Self::Size => Some((22, "size")),
        }
    }
}

/// One pipeline's queue on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The queue's directory; its last part is the pipeline id.
    pub directory: PathBuf,
    /// Bytes of a new page, from 18 to 2^31 - 1.
    pub page_capacity: u64,
    /// Most bytes in it, 0 is unlimited.
    pub max_bytes: u64,
    /// Most events in it that no worker has taken, 0 is unlimited.
    pub max_events: u64,
    /// Acknowledged events between checkpoints, 0 is never by count.
    pub checkpoint_acks: u64,
    /// Written events between checkpoints, 0 is never by count.
    pub checkpoint_writes: u64,
    /// Whether the rename of a checkpoint is tried again.
    pub checkpoint_retry: bool,
    /// How new elements are written.
    pub compression: Compression,
    /// When the source of an event hears that it is safe.
    pub durability: Durability,
    /// Whether it is emptied before a stop.
    pub drain: bool,
}

impl Settings {
    /// The defaults, for a queue in `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            page_capacity: 64 << 20,
            max_bytes: 1 << 30,
            max_events: 0,
            checkpoint_acks: 1024,
            checkpoint_writes: 1024,
            checkpoint_retry: true,
            compression: Compression::None,
            durability: Durability::Kernel,
            drain: false,
        }
    }
}
