//! Ladders written at random, for a look at them or for other programs: `cargo run -p shaderlint-fuzz --example ladders --
//! FROM..TO FOLDER` writes each to a file.

use std::fs;
use std::path::Path;

use shaderlint_fuzz::ladder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seeds, folder] = arguments.as_slice() else {
        return Err("FROM..TO FOLDER".into());
    };
    let (from, to) = seeds.split_once("..").ok_or("FROM..TO")?;
    fs::create_dir_all(folder)?;
    for seed in from.parse()?..to.parse::<u64>()? {
        let ladder = ladder(seed);
        let text = format!("// {}\n{}", ladder.about, ladder.text);
        fs::write(Path::new(folder).join(format!("ladder-{seed}.hlsl")), text)?;
    }
    Ok(())
}
