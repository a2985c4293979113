//! `shaderlint verify --evidence FOLDER`: writes the measurements of each rule's fixes beside the rule's fixtures.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use shaderlint_verify::run::Adapter;

use super::evidence::{DeviceOutcome, DeviceRow, Evidence, InOthers};
use super::gather::{Files, Texts, gather};
use super::kernel_toml::Settings;
use super::pair::{FixedFile, fixed_file};
use crate::cli::SourceArgs;
use crate::commands::adapters::chosen;
use crate::support::progress::Progress;
use crate::workspace::project_file::ProjectFile;

/// The file with the measurements.
const FILE: &str = "evidence.json";

/// Stands for the group's size in a kernel.
const SIZE: &str = "LANES";

/// The number of groups for timings on a software rasteriser: it shows that kernels run, not how hardware performs.
const SOFTWARE_GROUPS: [u32; 1] = [64];

/// An `evidence.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    /// The measured files, relative to the folder of this file. In their text, `LANES` stands for the group's size.
    kernels: Vec<PathBuf>,
    /// Sizes of the group.
    groups: Vec<u32>,
    rows: Vec<Row>,
}

/// A kernel and its fix on a device, at one size of the group.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    device: String,
    driver: String,
    /// The wave size.
    waves: u32,
    /// The date, for example 2026-11-21.
    measured: String,
    kernel: String,
    group: u32,
    /// Median milliseconds of the flagged statements and of the fix, both repeated in the kernel.
    ladder_ms: f64,
    fix_ms: f64,
    ratio: f64,
    /// The ranges of the runs do not overlap.
    is_measurable: bool,
    /// A kernel that reads and writes the same number of bytes.
    copy_ms: f64,
}

/// Measures every kernel that an `evidence.json` below `folder` names, on the adapters of this name. Rows of other
/// devices stay. Returns whether all kernels with a fix gave the same results as their fix.
pub(super) fn record(
    folder: &Path,
    source: &SourceArgs,
    adapter: Option<&str>,
    progress: &Progress,
) -> Result<bool> {
    let mut files: Vec<PathBuf> = crate::workspace::walk::tree(folder)
        .filter(|path| path.file_name().is_some_and(|name| name == FILE))
        .collect();
    files.sort();
    ensure!(!files.is_empty(), "{}: no {FILE} below it", folder.display());
    let adapters = chosen(adapter)?;
    ensure!(!adapters.is_empty(), "there is no adapter to measure on");
    let mut all_alike = true;
    for path in files {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(&path).with_context(|| shown.clone())?;
        let mut recorded: Recorded =
            serde_json::from_str(&text).with_context(|| format!("{shown} is not understood"))?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let mut rows = Vec::new();
        for kernel in &recorded.kernels {
            for group in &recorded.groups {
                let evidence = measure(&beside.join(kernel), *group, source, &adapters, progress)?;
                for one in evidence {
                    all_alike &= one.verdict.kind.is_equivalent();
                    rows.extend(
                        one.devices
                            .iter()
                            .filter_map(|device| row(kernel, *group, device)),
                    );
                }
            }
        }
        for row in &rows {
            progress.print(&format!(
                "{shown}: {} of {} on {}: {:.2}×\n",
                row.kernel, row.group, row.device, row.ratio
            ))?;
        }
        let is_kept = |old: &Row| !rows.iter().any(|new| new.device == old.device);
        recorded.rows.retain(is_kept);
        recorded.rows.extend(rows);
        std::fs::write(&path, render(&recorded)?).with_context(|| shown)?;
    }
    Ok(all_alike)
}

fn measure(
    path: &Path,
    group: u32,
    source: &SourceArgs,
    adapters: &[Adapter],
    progress: &Progress,
) -> Result<Vec<Evidence>> {
    let mut file = ProjectFile::read(path, source)?;
    file.text = String::from_utf8_lossy(&file.text)
        .replace(SIZE, &group.to_string())
        .into_bytes();
    let flagged = file.unit(&file.text);
    let FixedFile {
        unit: fixed,
        text: fixed_text,
        pairs,
        ..
    } = fixed_file(None, &file, &flagged, &file.project.defines_of(&file.text));
    let files = Files {
        flagged: &flagged,
        fixed: &fixed,
        texts: Texts {
            flagged: &file.text,
            fixed: &fixed_text,
        },
    };
    let is_timed = |adapter: &&Adapter| !adapter.info.is_cpu || SOFTWARE_GROUPS.contains(&group);
    let adapters: Vec<Adapter> = adapters.iter().filter(is_timed).cloned().collect();
    let settings = Settings::of_file(path, &flagged.shader, &[])?;
    let evidence = |pair| {
        gather(
            &files,
            pair,
            InOthers::default(),
            &adapters,
            &settings,
            true,
            progress,
        )
        .0
    };
    Ok(pairs.iter().map(evidence).collect())
}

/// The measurement of a device, if it found the kernels alike and could time them.
fn row(kernel: &Path, group: u32, device: &DeviceRow) -> Option<Row> {
    let times = device
        .ladder
        .as_ref()
        .filter(|_| device.outcome == DeviceOutcome::Alike)?;
    let rounded = |ms: f64| (ms * 1000.0).round() / 1000.0;
    Some(Row {
        device: device.adapter.clone(),
        driver: device.driver.clone(),
        waves: device.waves[1],
        measured: day(SystemTime::now()),
        kernel: kernel
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        group,
        ladder_ms: rounded(times.flagged.median),
        fix_ms: rounded(times.suggested.median),
        ratio: (times.ratio * 100.0).round() / 100.0,
        is_measurable: times.is_measurable,
        copy_ms: rounded(times.copy.median),
    })
}

/// JSON with one row per line, so that a diff shows which rows were measured again.
fn render(recorded: &Recorded) -> Result<String> {
    let rows: Result<Vec<String>, _> = recorded.rows.iter().map(serde_json::to_string).collect();
    Ok(format!(
        "{{\n  \"kernels\": {},\n  \"groups\": {},\n  \"rows\": [\n    {}\n  ]\n}}\n",
        serde_json::to_string(&recorded.kernels)?,
        serde_json::to_string(&recorded.groups)?,
        rows?.join(",\n    ")
    ))
}

/// The date in the Gregorian calendar, after Howard Hinnant, *chrono-compatible low-level date algorithms*.
fn day(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // Days since 1 March of the year 0, in eras of 400 years that begin on a 1 March.
    let days = since.as_secs() / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let day_of = |seconds: u64| day(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(day_of(0), "1970-01-01");
        assert_eq!(day_of(951_782_400), "2000-02-29");
        assert_eq!(day_of(1_795_219_200), "2026-11-21");
    }
}
