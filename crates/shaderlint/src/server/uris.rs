//! The URIs of files, spelled as the editor does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lsp_types::Uri;

use crate::support::paths::here;
use crate::support::uri;

/// The URIs of the open documents. Other files have the one that follows from their path.
#[derive(Clone, Default)]
pub(super) struct Uris(BTreeMap<PathBuf, Uri>);

impl Uris {
    pub fn new(open: impl Iterator<Item = (PathBuf, Uri)>) -> Self {
        Uris(open.collect())
    }

    pub fn of(&self, file: &Path) -> Option<Uri> {
        let file = here(file);
        match self.0.get(&file) {
            Some(uri) => Some(uri.clone()),
            None => uri::of(&file).parse().ok(),
        }
    }
}
