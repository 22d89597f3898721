//! Limits and use of the control group this process runs in, versions 1 and 2.
//!
//! In a container the path that `/proc/self/cgroup` names is often the host's; the group's files then lie at the root
//! of the mount.

use std::fs;
use std::path::{Path, PathBuf};

/// Processor use and limits of a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuGroup {
    /// Path of the group that counts processor time.
    pub accounting_group: String,
    /// Processor time of the group.
    pub usage_nanos: u64,
    /// Path of the group that limits processor time.
    pub control_group: String,
    /// Length of a scheduling period.
    pub period_micros: u64,
    /// Processor time in each period, -1 without a limit.
    pub quota_micros: i64,
    /// Periods so far.
    pub periods: u64,
    /// Periods in which the group used up its time.
    pub throttled_periods: u64,
    /// How long the group had to wait.
    pub throttled_nanos: u64,
}

/// Where the kernel shows control groups.
struct Mount {
    /// `/proc/self/cgroup`
    membership: String,
    /// `/sys/fs/cgroup`
    root: PathBuf,
}

/// Processor use and limits of this process's group; none where there are no control groups.
pub fn cpu() -> Option<CpuGroup> {
    Mount::of_this_process()?.cpu()
}

/// Memory limit of this process's group, when it has one.
pub fn memory_limit() -> Option<u64> {
    Mount::of_this_process()?.memory_limit()
}

impl Mount {
    fn of_this_process() -> Option<Self> {
        let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
        Some(Self { membership, root: PathBuf::from("/sys/fs/cgroup") })
    }

    fn cpu(&self) -> Option<CpuGroup> {
        self.cpu_v1().or_else(|| self.cpu_v2())
    }

    fn cpu_v1(&self) -> Option<CpuGroup> {
        let (accounting_group, accounting) = self.v1("cpuacct")?;
        let (control_group, control) = self.v1("cpu")?;
        let stat = fs::read_to_string(control.join("cpu.stat")).ok()?;
        Some(CpuGroup {
            usage_nanos: number(&accounting.join("cpuacct.usage"))?,
            accounting_group,
            control_group,
            period_micros: number(&control.join("cpu.cfs_period_us"))?,
            quota_micros: number(&control.join("cpu.cfs_quota_us"))?,
            periods: field(&stat, "nr_periods"),
            throttled_periods: field(&stat, "nr_throttled"),
            throttled_nanos: field(&stat, "throttled_time"),
        })
    }

    fn cpu_v2(&self) -> Option<CpuGroup> {
        let (group, directory) = self.v2("cpu.stat")?;
        let stat = fs::read_to_string(directory.join("cpu.stat")).ok()?;
        // The root group has no limit, and no file for one.
        let limit = fs::read_to_string(directory.join("cpu.max")).unwrap_or_default();
        let mut limit = limit.split_ascii_whitespace();
        let quota_micros = limit.next().and_then(|word| word.parse().ok()).unwrap_or(-1);
        Some(CpuGroup {
            usage_nanos: field(&stat, "usage_usec").saturating_mul(1000),
            accounting_group: group.clone(),
            control_group: group,
            period_micros: limit.next().and_then(|word| word.parse().ok()).unwrap_or(100_000),
            quota_micros,
            periods: field(&stat, "nr_periods"),
            throttled_periods: field(&stat, "nr_throttled"),
            throttled_nanos: field(&stat, "throttled_usec").saturating_mul(1000),
        })
    }

    fn memory_limit(&self) -> Option<u64> {
        if let Some((_, directory)) = self.v1("memory") {
            return number(&directory.join("memory.limit_in_bytes"));
        }
        let (_, directory) = self.v2("memory.max")?;
        number(&directory.join("memory.max"))
    }

    /// Path and directory of the group of a version 1 controller.
    fn v1(&self, controller: &str) -> Option<(String, PathBuf)> {
        let group = self.membership.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let controllers = parts.next()?;
            controllers.split(',').any(|name| name == controller).then(|| parts.next())?
        })?;
        let mount = self.root.join(controller);
        let directory = mount.join(group.trim_start_matches('/'));
        let directory = if directory.is_dir() { directory } else { mount };
        directory.is_dir().then(|| (group.to_owned(), directory))
    }

    /// Path and directory of the version 2 group, where it has a file of this name.
    fn v2(&self, file: &str) -> Option<(String, PathBuf)> {
        let group = self.membership.lines().find_map(|line| line.strip_prefix("0::"))?;
        let own = self.root.join(group.trim_start_matches('/'));
        let directory = [own, self.root.clone()].into_iter().find(|directory| directory.join(file).is_file())?;
        Some((group.to_owned(), directory))
    }
}

fn number<T: std::str::FromStr>(file: &Path) -> Option<T> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// A line `name value`.
fn field(stat: &str, name: &str) -> u64 {
    let value = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_files(membership: &str, files: &[(&str, &str)], check: impl FnOnce(&Mount)) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check(&Mount { membership: membership.to_owned(), root: root.path().to_owned() });
    }

    #[test]
    fn version_1_counts_nanoseconds() {
        let membership = "4:memory:/m\n3:cpu,cpuset:/box\n2:cpuacct:/box\n0::/\n";
        let files = [
            ("cpuacct/box/cpuacct.usage", "7987397547062\n"),
            ("cpu/box/cpu.cfs_period_us", "100000\n"),
            ("cpu/box/cpu.cfs_quota_us", "-1\n"),
            ("cpu/box/cpu.stat", "nr_periods 5\nnr_throttled 2\nthrottled_time 77\n"),
            ("memory/memory.limit_in_bytes", "1048576\n"),
        ];
        with_files(membership, &files, |mount| {
            let expected = CpuGroup {
                accounting_group: "/box".into(),
                usage_nanos: 7_987_397_547_062,
                control_group: "/box".into(),
                period_micros: 100_000,
                quota_micros: -1,
                periods: 5,
                throttled_periods: 2,
                throttled_nanos: 77,
            };
            assert_eq!(mount.cpu(), Some(expected));
            assert_eq!(mount.memory_limit(), Some(1_048_576));
        });
    }

    #[test]
    fn version_2_counts_microseconds_and_may_lie_at_the_root_of_the_mount() {
        let files = [
            ("cpu.max", "50000 200000\n"),
            ("cpu.stat", "usage_usec 12\nnr_periods 5\nnr_throttled 2\nthrottled_usec 3\n"),
            ("memory.max", "max\n"),
        ];
        with_files("0::/docker/abc\n", &files, |mount| {
            let cpu = mount.cpu().unwrap();
            assert_eq!((cpu.usage_nanos, cpu.quota_micros, cpu.period_micros), (12_000, 50_000, 200_000));
            assert_eq!((cpu.periods, cpu.throttled_periods, cpu.throttled_nanos), (5, 2, 3000));
            assert_eq!(cpu.control_group, "/docker/abc");
            assert_eq!(mount.memory_limit(), None);
        });
    }

    #[test]
    fn without_a_limit_the_quota_is_minus_one() {
        with_files("0::/\n", &[("cpu.stat", "usage_usec 12\n")], |mount| {
            let cpu = mount.cpu().unwrap();
            assert_eq!((cpu.quota_micros, cpu.period_micros, cpu.periods), (-1, 100_000, 0));
        });
    }

    #[test]
    fn without_control_groups_there_is_nothing() {
        with_files("", &[], |mount| assert_eq!(mount.cpu(), None));
        with_files("3:cpu:/\n2:cpuacct:/\n", &[], |mount| assert_eq!(mount.cpu(), None));
    }
}
