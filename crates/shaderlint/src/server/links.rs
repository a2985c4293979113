//! Links from the paths in `#include` lines to the files.

use std::path::Path;

use anyhow::Result;
use lsp_types::DocumentLink;
use shaderlint_hlsl::{Includes, Text};

use super::lines::Lines;
use super::session::Session;
use crate::support::cancellation::Cancellation;
use crate::workspace::include_search;

impl Session {
    /// The work that finds the files that an open document includes.
    pub fn links(
        &self,
        path: &Path,
        stop: &Cancellation,
    ) -> impl FnOnce() -> Result<Vec<DocumentLink>> + Send + use<> {
        let (encoding, uris, options) = (self.client.encoding, self.uris(), self.options_until(stop));
        let document = self.documents.get(path);
        let text = document.map(|document| document.text.clone()).unwrap_or_default();
        // As in DXC, the folders of the files that include this one count.
        let units = document.and_then(|document| document.units.as_ref());
        let includers = units.into_iter().flatten().filter(|unit| *unit != path);
        let readers = std::iter::once(path).chain(includers.map(|unit| &**unit));
        let readers: Vec<String> = readers.map(|file| file.display().to_string()).collect();
        let (target, _) = self.target(path);
        move || {
            let search = options.search(&target.project);
            let readers: Vec<&str> = readers.iter().map(String::as_str).collect();
            let lines = Lines::new(text.as_bytes(), encoding);
            let included = include_search::places(&Text::from(text.as_bytes()));
            let links = included.into_iter().filter_map(|include| {
                let file = search.resolve(&readers, &include.name, include.is_angled)?;
                let [start, end] = [include.place.start, include.place.end].map(u32::try_from);
                Some(DocumentLink {
                    range: lines.range(start.ok()?, end.ok()?),
                    target: Some(uris.of(Path::new(&file.path))?),
                    tooltip: None,
                    data: None,
                })
            });
            Ok(links.collect())
        }
    }
}
