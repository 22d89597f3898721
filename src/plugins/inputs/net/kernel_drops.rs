//! Datagrams that the kernel dropped because a socket was not emptied in time, from its own table of sockets.

use std::os::fd::BorrowedFd;

use rustix::fs::fstat;

/// What the kernel dropped at one socket.
pub(in crate::plugins::inputs) struct KernelDrops {
    inode: u64,
    /// Dropped at the last look.
    seen: u64,
}

impl KernelDrops {
    /// Of this socket.
    pub fn of(socket: BorrowedFd<'_>) -> Self {
        Self { inode: fstat(socket).map_or(0, |stat| stat.st_ino), seen: 0 }
    }

    /// Dropped since the last look.
    pub fn more(&mut self) -> u64 {
        let tables = ["/proc/net/udp", "/proc/net/udp6"].into_iter();
        let count = tables.filter_map(|path| std::fs::read_to_string(path).ok()).find_map(|table| self.count(&table));
        let count = count.unwrap_or(self.seen);
        let more = count.saturating_sub(self.seen);
        self.seen = count;
        more
    }

    fn count(&self, table: &str) -> Option<u64> {
        table.lines().skip(1).find_map(|line| {
            let columns: Vec<&str> = line.split_ascii_whitespace().collect();
            let inode: u64 = columns.get(9)?.parse().ok()?;
            (inode == self.inode).then(|| columns.get(12)?.parse().ok())?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_the_own_socket_is_found() {
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n\
            \x20 3020: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 23145 2 0000000000000000 7\n\
            \x20 3021: 0100007F:0036 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 23146 2 0000000000000000 42\n";
        assert_eq!(KernelDrops { inode: 23146, seen: 0 }.count(table), Some(42));
        assert_eq!(KernelDrops { inode: 1, seen: 0 }.count(table), None);
    }
}
