//! One file with its configuration, for commands that work on a single file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
#[cfg(feature = "gpu")]
use shaderlint_hlsl::{Problem, Shader, preprocess, read_preprocessed};
use shaderlint_hlsl::{Text, decode};

use crate::cli::SourceArgs;
#[cfg(feature = "gpu")]
use crate::support::definition::Define;
#[cfg(feature = "gpu")]
use crate::support::snippets;
use crate::workspace::config::{Project, Projects};
use crate::workspace::files::Files;
use crate::workspace::includes::Search;
use crate::workspace::walk;

/// Positions are 32-bit offsets into the expanded text, which is longer than the file.
const MAX_FILE_SIZE: usize = 256 << 20;

/// A translation unit as read.
#[cfg(feature = "gpu")]
pub(crate) struct TranslationUnit {
    pub shader: Shader,
    pub problems: Vec<Problem>,
    /// A problem for each include that took one of several files.
    pub choices: Vec<Problem>,
}

#[cfg(feature = "gpu")]
impl TranslationUnit {
    /// Prints on standard error what could not be read.
    pub fn print_problems(&self) {
        snippets::problems(&self.shader.sources, &self.problems);
        self.print_choices();
    }

    /// Prints on standard error which includes took one of several files.
    pub fn print_choices(&self) {
        snippets::problems(&self.shader.sources, &self.choices);
    }
}

/// One file with its configuration.
pub(crate) struct ProjectFile {
    pub path: PathBuf,
    pub text: Vec<u8>,
    pub project: Arc<Project>,
    files: Files,
}

impl ProjectFile {
    pub fn read(path: &Path, source: &SourceArgs) -> Result<Self> {
        ProjectFile::read_in(Projects::new(source).of(path)?, path)
    }

    /// Reads a file whose project is known.
    pub fn read_in(project: Arc<Project>, path: &Path) -> Result<Self> {
        let of_file = || std::iter::once((path, project.root.as_deref()));
        let files = Files::new(walk::trees(&[], of_file()), &walk::workspace(&[], of_file()));
        files.allow(project.header_folders());
        Ok(ProjectFile {
            path: path.to_owned(),
            text: text_of(&read_file(&files, path)?).to_vec(),
            files,
            project,
        })
    }

    /// A file of this name and text, which is not on disk.
    #[cfg(feature = "gpu")]
    pub fn given(name: &str, text: &str, project: Arc<Project>) -> Self {
        ProjectFile {
            path: name.into(),
            text: text.into(),
            files: Files::given(name, text.as_bytes()),
            project,
        }
    }

    pub fn search(&self) -> Search<'_> {
        Search::new(&self.files, &self.project)
    }

    /// The file as a translation unit, as if it contained `text`.
    #[cfg(feature = "gpu")]
    pub fn unit(&self, text: &[u8]) -> TranslationUnit {
        self.unit_under(text, &self.project.defines_of(text))
    }

    /// As [`ProjectFile::unit`], under other definitions.
    #[cfg(feature = "gpu")]
    pub fn unit_under(&self, text: &[u8], defines: &[Define]) -> TranslationUnit {
        let path = self.path.display().to_string();
        let search = self.search();
        let (mut unit, problems) = preprocess(&path, text, defines, &search);
        unit.version = self.project.version_of(text, defines);
        let (shader, mut problems) = read_preprocessed(unit, problems, None);
        let lookups = search.into_lookups();
        lookups.explain(&shader.sources, &mut problems);
        TranslationUnit {
            choices: lookups.choices(&shader.sources),
            shader,
            problems,
        }
    }
}

/// Reads one file as a translation unit.
#[cfg(feature = "gpu")]
pub(crate) fn read_unit(path: &Path, source: &SourceArgs) -> Result<TranslationUnit> {
    let file = ProjectFile::read(path, source)?;
    Ok(file.unit(&file.text))
}

pub(crate) fn read_file(files: &Files, path: &Path) -> Result<Vec<u8>> {
    let text = files.bytes(path).with_context(|| path.display().to_string())?;
    ensure!(
        text.len() <= MAX_FILE_SIZE,
        "{}: more than {} MiB",
        path.display(),
        MAX_FILE_SIZE >> 20
    );
    Ok(text)
}

/// The decoded text of a file. A binary file keeps its bytes.
pub(crate) fn text_of(bytes: &[u8]) -> Text {
    decode(bytes).unwrap_or_else(|| bytes.into())
}
