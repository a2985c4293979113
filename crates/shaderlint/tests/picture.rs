//! The README's pictures are what the program prints. `SNAPSHOTS=overwrite` draws them anew.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]
#![expect(clippy::unreadable_literal, reason = "colours are written so")]

mod support;

use std::fmt::Write;
use std::path::Path;

use anstyle::RgbColor;
use anstyle_svg::{Palette, Term};
use snapbox::{Data, assert_data_eq};
use support::Folder;

const KERNEL: &str = "\
StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Sums;
groupshared uint g_Sum[256];

[numthreads(256, 1, 1)]
void SumOfGroup(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID)
{
    g_Sum[gi] = Src[id.x];
    GroupMemoryBarrierWithGroupSync();
    for (uint stride = 128; stride > 0; stride /= 2)
    {
        if (gi < stride)
            g_Sum[gi] += g_Sum[gi + stride];
        GroupMemoryBarrierWithGroupSync();
    }
    if (gi == 0)
        Sums[group.x] = g_Sum[0];
}
";

#[test]
fn the_pictures_of_the_readme_are_true() {
    let folder = Folder::new("picture").with("sum.hlsl", KERNEL);
    let mut shown = String::new();
    for arguments in [&["sum.hlsl"][..], &["--diff", "sum.hlsl"]] {
        let command = format!("shaderlint {}", arguments.join(" "));
        let printed = folder.printed(&[&["--color", "always", "-q"], arguments].concat());
        let _ = write!(shown, "\x1b[1m$ {command}\x1b[0m\n{}\n\n", printed.trim_end());
    }
    for (name, term) in [
        ("light", term(LIGHT, [0xf6f8fa, 0x1f2328])),
        ("dark", term(DARK, [0x161b22, 0xe6edf3])),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/plots/finding-{name}.svg"));
        let drawn = term.render_svg(shown.trim_end());
        assert_data_eq!(drawn, Data::read_from(&path, None).raw());
    }
}

/// Black, red, green, yellow, blue, magenta, cyan and white, dim and bright, as GitHub has them.
const LIGHT: [u32; 16] = [
    0x24292f, 0xcf222e, 0x116329, 0x7d4e00, 0x0969da, 0x8250df, 0x1b7c83, 0x6e7781, 0x57606a, 0xa40e26,
    0x1a7f37, 0x9a6700, 0x218bff, 0xa475f9, 0x3192aa, 0x8c959f,
];
const DARK: [u32; 16] = [
    0x484f58, 0xff7b72, 0x3fb950, 0xd29922, 0x58a6ff, 0xbc8cff, 0x39c5cf, 0xb1bac4, 0x6e7681, 0xffa198,
    0x56d364, 0xe3b341, 0x79c0ff, 0xd2a8ff, 0x56d4dd, 0xffffff,
];

fn term(palette: [u32; 16], [background, text]: [u32; 2]) -> Term {
    let rgb = |color: u32| {
        let [_, red, green, blue] = color.to_be_bytes();
        RgbColor(red, green, blue)
    };
    Term::new()
        .palette(Palette(palette.map(rgb)))
        .bg_color(rgb(background).into())
        .fg_color(rgb(text).into())
        .min_width_px(0)
}
