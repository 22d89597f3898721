//! What the kernel says of this process and its machine, from `/proc`. A figure that cannot be read is zero.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};

use super::cgroup;

/// Ticks of `/proc/<pid>/stat` in a second; the same on every Linux architecture that Rust runs on.
const TICKS_PER_SECOND: u64 = 100;

/// Figures of this process at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessFigures {
    /// Open file descriptors.
    pub open_files: u64,
    /// Most of them that were ever seen open.
    pub peak_open_files: u64,
    /// How many may be open.
    pub max_files: u64,
    /// Threads.
    pub threads: u64,
    /// Most of them that were ever seen.
    pub peak_threads: u64,
    /// Address space.
    pub virtual_bytes: u64,
    /// Resident memory.
    pub resident_bytes: u64,
    /// Resident memory that is no file: what was allocated.
    pub allocated_bytes: u64,
    /// What memory the process may use: of its control group, else of the machine.
    pub memory_limit_bytes: u64,
    /// CPU time so far.
    pub cpu: Duration,
    /// Share of all processors over the last seconds.
    pub cpu_percent: u64,
}

/// Keeps what must be remembered between readings.
#[derive(Debug)]
pub struct ProcessWatch {
    latest: ProcessFigures,
    cpu_since: (Instant, Duration),
    cpu_percent: u64,
    memory_limit: u64,
}

impl ProcessWatch {
    /// Starts to watch this process.
    pub fn start() -> Self {
        let mut watch = Self {
            latest: ProcessFigures::default(),
            cpu_since: (Instant::now(), cpu_time()),
            cpu_percent: 0,
            memory_limit: memory_limit(),
        };
        watch.observe();
        watch
    }

    /// The figures as they were last read.
    pub fn latest(&self) -> ProcessFigures {
        self.latest
    }

    /// Reads all figures.
    pub fn observe(&mut self) {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident = kib(&status, "VmRSS:");
        let mut now = ProcessFigures {
            // The directory that is read for this is open too.
            open_files: fs::read_dir("/proc/self/fd").map_or(0, |files| files.count().saturating_sub(1) as u64),
            max_files: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX >> 1),
            threads: number(&status, "Threads:"),
            virtual_bytes: kib(&status, "VmSize:"),
            resident_bytes: resident,
            allocated_bytes: if status.contains("RssAnon:") { kib(&status, "RssAnon:") } else { resident },
            memory_limit_bytes: self.memory_limit,
            cpu: cpu_time(),
            ..ProcessFigures::default()
        };
        now.peak_open_files = now.open_files.max(self.latest.peak_open_files);
        now.peak_threads = now.threads.max(self.latest.peak_threads);
        now.cpu_percent = self.cpu_percent(now.cpu);
        self.latest = now;
    }

    /// Measured over a second at least: shorter spans show the granularity of the clock.
    fn cpu_percent(&mut self, cpu: Duration) -> u64 {
        let (since, before) = self.cpu_since;
        let elapsed = since.elapsed();
        if elapsed >= Duration::from_secs(1) {
            let used = cpu.saturating_sub(before).as_secs_f64();
            let share = 100.0 * used / (elapsed.as_secs_f64() * processors() as f64);
            self.cpu_percent = share.clamp(0.0, 100.0) as u64;
            self.cpu_since = (Instant::now(), cpu);
        }
        self.cpu_percent
    }
}

/// Processors this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Load of the machine over one, five and fifteen minutes.
pub fn load_average() -> Option<[f64; 3]> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    Duration::from_millis(cpu_ticks(&stat).saturating_mul(1000 / TICKS_PER_SECOND))
}

/// User and system time. The name of the program stands before them in parentheses, and may hold anything.
fn cpu_ticks(stat: &str) -> u64 {
    let behind_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = behind_name.split_ascii_whitespace().skip(11).take(2);
    ticks.filter_map(|word| word.parse::<u64>().ok()).sum()
}

fn memory_limit() -> u64 {
    let machine = kib(&fs::read_to_string("/proc/meminfo").unwrap_or_default(), "MemTotal:");
    cgroup::memory_limit().filter(|limit| machine == 0 || *limit < machine).unwrap_or(machine)
}

/// The number behind a label at the start of a line.
fn number(text: &str, label: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_default();
    line.split_ascii_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn kib(text: &str, label: &str) -> u64 {
    number(text, label).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_program_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 1 2 3 4 250 31 0 0 20 0 3 0 100 1 1";
        assert_eq!(cpu_ticks(stat), 281);
        assert_eq!(cpu_ticks(""), 0);
    }

    #[test]
    fn figures_of_this_process_are_plausible() {
        let mut watch = ProcessWatch::start();
        let before = watch.latest();
        let files: Vec<_> = (0..20).map(|_| fs::File::open("/dev/null").unwrap()).collect();
        watch.observe();
        let now = watch.latest();
        assert!(now.open_files >= before.open_files.max(20), "{now:?}");
        assert!(now.max_files >= now.open_files);
        assert!(now.threads >= 1);
        assert!(now.virtual_bytes > now.resident_bytes && now.resident_bytes >= now.allocated_bytes);
        assert!(now.allocated_bytes > 0 && now.memory_limit_bytes > now.allocated_bytes);
        drop(files);
        watch.observe();
        assert!(watch.latest().peak_open_files >= now.open_files);
    }
}
