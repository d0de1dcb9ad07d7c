//! What a process can say about itself: CPU time and memory, read from `/proc`; and medians.

use std::{fs, time::Duration};

/// Linux reports CPU time in hundredths of a second, whatever the kernel's own tick.
const TICK: Duration = Duration::from_millis(10);

/// User and system time of this process so far, threads that ended included. Steps of 10 ms:
/// measure much work at once.
pub fn cpu() -> Result<Duration, String> {
    let stat = fs::read_to_string("/proc/self/stat")
        .map_err(|error| format!("/proc/self/stat: {error}"))?;
    // The second field is the program's name in parentheses and may hold blanks.
    let after_name = stat
        .rsplit_once(") ")
        .map(|(_, rest)| rest)
        .unwrap_or_default();
    let mut fields = after_name.split(' ').skip(11).map(str::parse::<u32>);
    match (fields.next(), fields.next()) {
        (Some(Ok(user)), Some(Ok(system))) => Ok(TICK * (user + system)),
        _ => Err(format!("/proc/self/stat has no CPU times: {stat}")),
    }
}

/// The most memory this process ever had, in MiB.
pub fn peak_memory() -> Result<f64, String> {
    status("VmHWM:")
}

/// The memory this process has now, in MiB.
pub fn memory() -> Result<f64, String> {
    status("VmRSS:")
}

/// How busy the machine is: the load of the last 1, 5 and 15 minutes.
pub fn load() -> Result<String, String> {
    let load =
        fs::read_to_string("/proc/loadavg").map_err(|error| format!("/proc/loadavg: {error}"))?;
    Ok(load.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

fn status(field: &str) -> Result<f64, String> {
    status_of(std::process::id(), field)
}

/// What a process says about its memory, in MiB.
pub fn status_of(process: u32, field: &str) -> Result<f64, String> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .and_then(|number| number.parse::<f64>().ok());
    kibibytes
        .map(|kibibytes| kibibytes / 1024.0)
        .ok_or_else(|| format!("{path} has no {field}"))
}

/// The middle value; of an even number the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let rows: &[(&[f64], Option<f64>)] = &[
            (&[], None),
            (&[3.0], Some(3.0)),
            (&[9.0, 1.0, 2.0], Some(2.0)),
            (&[4.0, 1.0], Some(2.5)),
        ];
        for (values, expected) in rows {
            assert_eq!(median(values), *expected, "{values:?}");
        }
    }

    #[test]
    fn a_process_knows_itself() {
        let before = cpu().expect("a Linux process");
        let mut work = vec![0u8; 64 << 20];
        // The work comes before the question: zeroed memory nobody wrote to is not there yet, and a
        // tick may fall before the first look.
        loop {
            work.iter_mut()
                .for_each(|byte| *byte = byte.wrapping_add(1));
            if cpu().expect("a Linux process") > before {
                break;
            }
        }
        assert!(memory().expect("a Linux process") > 64.0);
        drop(work);
        assert!(peak_memory().expect("a Linux process") > 64.0);
    }
}
