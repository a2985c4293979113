//! Places labelled by hand: whether each lies in a function that was read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

use shaderlint_hlsl::Text;

use crate::gaps::Level;
use crate::{Place, Seen};

/// A line of a file, and what stands there.
struct Label {
    project: String,
    path: String,
    line: usize,
    kind: String,
}

#[derive(Default)]
pub struct Labels(Vec<Label>);

impl Labels {
    /// From a table with tabs between its columns: project, path in it, line, kind; the first line names them.
    pub fn read(path: &str) -> Result<Self, Box<dyn Error>> {
        let table = fs::read_to_string(path)?;
        let mut labels = Vec::new();
        for row in table.lines().skip(1) {
            let mut cells = row.split('\t').map(str::to_owned);
            let mut cell = || cells.next().ok_or("a row of the labels is too short");
            let (project, path) = (cell()?, cell()?);
            let line = cell()?.parse()?;
            let kind = cell()?;
            labels.push(Label {
                project,
                path,
                line,
                kind,
            });
        }
        Ok(Labels(labels))
    }

    /// The paths of the files of a project that hold one.
    pub fn files_in(&self, folder: &Path) -> HashSet<String> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let here = self.0.iter().filter(|label| label.project == name);
        here.map(|label| folder.join(&label.path).to_string_lossy().into_owned())
            .collect()
    }

    /// A label in a macro's definition means the functions that call the macro: the one that was read best counts.
    pub fn print(
        &self,
        folders: &[String],
        functions: &BTreeMap<Place, Seen>,
        texts: &HashMap<String, Text>,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        let mut levels: BTreeMap<Level, Vec<String>> = BTreeMap::new();
        let (mut count, mut absent) = (0, 0);
        for folder in folders {
            let name = Path::new(folder)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy();
            for label in self.0.iter().filter(|label| label.project == name) {
                let path = Path::new(folder).join(&label.path);
                let path = path.to_string_lossy();
                if !texts.contains_key(&*path) {
                    absent += 1;
                    continue;
                }
                count += 1;
                let holds = |seen: &&Seen| (seen.lines.0..=seen.lines.1).contains(&label.line);
                let here = functions.iter().filter(|((file, _), _)| *file == path);
                let around = here.map(|(_, seen)| seen).filter(holds);
                let around = around.min_by_key(|seen| (seen.lines.1 - seen.lines.0, seen.level));
                let name = || texts.get(&*path).and_then(|text| macro_around(text, label.line));
                let function = around.or_else(|| {
                    let name = name()?;
                    let users = functions.iter().filter(|((file, _), seen)| {
                        file.starts_with(folder) && texts.get(file).is_some_and(|text| seen.names(text, name))
                    });
                    users.map(|(_, seen)| seen).min_by_key(|seen| seen.level)
                });
                let (level, cause) = function.map_or((Level::NoFunction, String::new()), |seen| {
                    (seen.level, seen.causes.join("; "))
                });
                levels
                    .entry(level)
                    .or_default()
                    .push(format!("{} {path}:{} {cause}", label.kind, label.line));
            }
        }
        let in_those = |wanted: &[Level]| -> usize {
            let here = wanted.iter().filter_map(|level| levels.get(level));
            here.map(Vec::len).sum()
        };
        let (whole, read) = (in_those(&[Level::Whole]), in_those(&Level::READ));
        let share = |some: usize| 100.0 * some as f64 / f64::from(count.max(1));
        writeln!(
            out,
            "labelled places: {count} ({absent} more in files that are not there); in a function read: {read} ({:.1} %), \
             of which whole: {whole} ({:.1} %)",
            share(read),
            share(whole)
        )?;
        for (level, places) in levels.iter().filter(|(level, _)| **level != Level::Whole) {
            writeln!(out, "{level:?}: {}", places.len())?;
            places
                .iter()
                .try_for_each(|place| writeln!(out, "         {place}"))?;
        }
        Ok(())
    }
}

/// The macro in whose definition a line stands.
fn macro_around(text: &[u8], line: usize) -> Option<&[u8]> {
    let lines: Vec<&[u8]> = text
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .collect();
    let mut first = line.checked_sub(1)?;
    while first > 0 && lines.get(first - 1)?.ends_with(b"\\") {
        first -= 1;
    }
    let definition = lines.get(first)?.strip_prefix(b"#")?.trim_ascii_start();
    let definition = definition.strip_prefix(b"define")?.trim_ascii_start();
    let end = definition
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    definition.get(..end?)
}
