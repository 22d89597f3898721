//! What the inputs share that listen to the network: sockets, connections, and who is at their other end.

pub(super) mod connection;
pub(super) mod datagrams;
pub(super) mod kernel_drops;
pub(super) mod listener;
pub(super) mod marks;
pub(super) mod names;
pub(super) mod proxy;
pub(super) mod reader;
