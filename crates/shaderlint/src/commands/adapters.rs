//! The adapters that a command line names.

use anyhow::{Result, bail};
use shaderlint_verify::run::{Adapter, adapters};

/// The adapters to run on.
pub(crate) fn chosen(name: Option<&str>) -> Result<Vec<Adapter>> {
    let all = adapters();
    let Some(name) = name else { return Ok(all) };
    let names: Vec<String> = all.iter().map(|adapter| adapter.info.name.clone()).collect();
    let wanted = name.to_lowercase();
    let is_wanted = |adapter: &Adapter| adapter.info.name.to_lowercase().contains(&wanted);
    let chosen: Vec<Adapter> = all.into_iter().filter(is_wanted).collect();
    if chosen.is_empty() {
        match names.as_slice() {
            [] => bail!("no adapter is called `{name}`: there are no adapters"),
            names => bail!(
                "no adapter is called `{name}`: expected one of {}",
                names.join(", ")
            ),
        }
    }
    Ok(chosen)
}
