//! The files of one project.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use shaderlint_hlsl::{Includes, SourceFile};

const ENDINGS: [&str; 12] = [
    "hlsl", "hlsli", "compute", "cginc", "fx", "fxh", "usf", "ush", "azsl", "azsli", "csh", "ihlsl",
];

pub struct Project {
    pub files: Vec<SourceFile>,
    /// By file name, in lower case.
    by_name: HashMap<String, Vec<usize>>,
}

impl Project {
    pub fn new(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut paths = Vec::new();
        let mut left = vec![folder.to_owned()];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    left.push(path);
                } else {
                    paths.push(path);
                }
            }
        }
        paths.sort();
        let mut project = Project {
            files: Vec::new(),
            by_name: HashMap::new(),
        };
        for path in paths {
            let name = path.file_name().unwrap_or_default();
            let name = name.to_string_lossy().to_lowercase();
            project.by_name.entry(name).or_default().push(project.files.len());
            project.files.push(SourceFile {
                text: fs::read(&path)?.into(),
                path: path.to_string_lossy().into_owned(),
            });
        }
        Ok(project)
    }

    /// The files that are HLSL by their names; others are read only where they are included.
    pub fn shaders(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| Project::is_shader(file))
    }

    pub fn is_shader(file: &SourceFile) -> bool {
        let ending = file.path.rsplit('.').next().unwrap_or_default().to_lowercase();
        ENDINGS.contains(&ending.as_str())
    }
}

/// The components of a path that name something, in lower case: most shaders are written on Windows.
fn components(path: &str) -> Vec<String> {
    path.split(['/', '\\'])
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .map(str::to_lowercase)
        .collect()
}

impl Includes for Project {
    /// What is not found beside its file is looked up by the end of its path.
    fn resolve(&self, readers: &[&str], path: &str, _angled: bool) -> Option<SourceFile> {
        let wanted = components(path);
        let from = components(readers.first()?);
        let shared = |file: &SourceFile| {
            let parts = components(&file.path);
            parts.iter().zip(&from).take_while(|(a, b)| a == b).count()
        };
        let candidates = self.by_name.get(wanted.last()?)?;
        let fitting = candidates.iter().filter_map(|&index| self.files.get(index));
        fitting
            .filter(|file| components(&file.path).ends_with(&wanted))
            .max_by_key(|file| (shared(file), Reverse(file.path.len())))
            .cloned()
    }
}
