//! What the folders of the source may know of.
#![expect(clippy::disallowed_methods, reason = "the source is files")]

use std::fs;
use std::path::Path;

/// Folders, and the modules of this crate that each may use besides its own.
const ARROWS: [(&str, &[&str]); 2] = [("text", &[]), ("terms", &["text"])];

#[test]
fn folders_depend_along_the_arrows_only() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (folder, allowed) in ARROWS {
        let files = fs::read_dir(source.join(folder)).unwrap();
        for path in files.map(|entry| entry.unwrap().path()) {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for used in code.flat_map(|line| line.split("crate::").skip(1)) {
                let module = used.split([':', ';', ',', '}', ' ']).next().unwrap_or_default();
                let is_known = module == folder || allowed.contains(&module);
                assert!(is_known, "{} uses `{used}`", path.display());
            }
        }
    }
}
