//! The expanded text against that of `cpp`, token for token.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use shaderlint_hlsl::{Includes, SourceFile, preprocess};

use crate::project::Project;
use crate::reference::{cpp, tokens};

/// Includes the way `cpp` finds them: beside the file, then in these folders.
struct Folders(Vec<PathBuf>);

impl Includes for Folders {
    fn resolve(&self, readers: &[&str], path: &str, angled: bool) -> Option<SourceFile> {
        let from = readers.first().filter(|_| !angled);
        let beside = from.and_then(|from| Path::new(from).parent());
        let folders = beside.into_iter().chain(self.0.iter().map(PathBuf::as_path));
        folders.map(|folder| folder.join(path)).find_map(|path| {
            // `#pragma once` means the file, by whatever path.
            let path = path.canonicalize().ok().filter(|path| path.is_file())?;
            let text = fs::read(&path).ok()?;
            Some(SourceFile {
                path: path.to_string_lossy().into_owned(),
                text: text.into(),
            })
        })
    }
}

#[derive(Default)]
pub struct Comparison {
    files: usize,
    tokens: usize,
    refused: usize,
    different: Vec<String>,
}

impl Comparison {
    /// Compares one file of a project. Both find includes beside the file and in every folder of the project.
    pub fn file(&mut self, file: &SourceFile, project: &Project) -> Result<(), Box<dyn Error>> {
        let folders = project
            .files
            .iter()
            .filter_map(|file| Path::new(&file.path).parent());
        let folders: BTreeSet<&Path> = folders.collect();
        let options = folders
            .iter()
            .map(|folder| format!("-I{}", folder.to_string_lossy()));
        let options: Vec<String> = options.collect();
        let (made, is_accepted) = cpp(&options, &file.path, &[]).ok_or("there is no cpp")?;
        if !is_accepted {
            self.refused += 1;
            return Ok(());
        }
        self.files += 1;
        let folders = Folders(folders.into_iter().map(Path::to_owned).collect());
        let (unit, problems) = preprocess(&file.path, &file.text, &[], &folders);
        let (ours, theirs) = (tokens(&unit.text), tokens(&without_pragmas(&made)));
        self.tokens += theirs.len();
        if ours == theirs {
            return Ok(());
        }
        let at = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        let near = |tokens: &[Vec<u8>]| {
            let near = tokens.iter().skip(at.saturating_sub(4)).take(12);
            near.map(|token| String::from_utf8_lossy(token).into_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let problem = problems.first().map_or("", |problem| problem.message.as_str());
        self.different.push(format!(
            "{}: token {at}\n  ours   {}\n  theirs {}\n  {problem}",
            file.path,
            near(&ours),
            near(&theirs)
        ));
        Ok(())
    }

    pub fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(
            out,
            "compared with cpp: {} files of {} tokens, {} differ; {} files that cpp refuses",
            self.files,
            self.tokens,
            self.different.len(),
            self.refused
        )?;
        self.different
            .iter()
            .try_for_each(|different| writeln!(out, "{different}"))
    }
}

/// `cpp` hands pragmas on to the compiler.
fn without_pragmas(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let kept = lines.filter(|line| !line.trim_ascii_start().starts_with(b"#pragma"));
    kept.collect::<Vec<_>>().concat()
}
