//! Elements in resources: where a claim says that they are, and whether groups keep apart.

use shaderlint_hlsl::{GlobalId, Shader, Storage, Type};
use shaderlint_simt::{Collective, Extent};

use crate::SEEDS;
use crate::group::{End, Group, Order};
use crate::program::Program;

/// The index that a claim's elements begin at, as its text says: a sum of names, each with a factor or without; and the
/// factor of the group's number.
fn start(program: &Program, extent: &Extent, group: &Group<'_>) -> Option<(u32, Option<u32>)> {
    let (mut start, mut step) = (0u32, None);
    for part in extent.start.split(" + ").filter(|part| !part.is_empty()) {
        let (factor, name) = match part.split_once(" * ") {
            Some((factor, name)) => (factor.parse::<i32>().ok()?.cast_unsigned(), name),
            None => (1, part),
        };
        let value = if let Some(axis) = name.strip_prefix("SV_GroupID.") {
            step = Some(factor);
            group.group_id("xyz".find(axis)?)
        } else {
            let mut names = program.resources.iter();
            let (id, _) = names.find(|(_, (_, known))| known == name)?;
            group.device(*id, Vec::new(), 0)
        };
        start = start.wrapping_add(factor.wrapping_mul(value));
    }
    Some((start, step))
}

/// What a component of a claim's element holds.
pub fn word(
    program: &Program,
    claim: &Collective,
    group: &Group<'_>,
    resource: GlobalId,
    element: u32,
    component: u32,
) -> Option<u32> {
    let extent = claim.tiles.iter().find(|extent| extent.resource == resource)?;
    let (start, _) = start(program, extent, group)?;
    Some(group.device(resource, vec![start.wrapping_add(element)], component))
}

/// The groupshared arrays, then the claim's resources as far as its elements may reach, word by word.
pub fn rows(shader: &Shader, program: &Program, claim: &Collective, group: &Group<'_>) -> Vec<Vec<u32>> {
    let threads: u32 = program.group.iter().product();
    let tiles = claim.tiles.iter().map(|extent| {
        let resource = &shader.globals[extent.resource.0 as usize];
        let width = match &resource.ty {
            Type::Resource(_, Some(element)) if resource.storage == Storage::Resource => {
                shader.components(element) as u32
            }
            _ => 0,
        };
        let words =
            (0..4 * threads).flat_map(|element| (0..width).map(move |component| (element, component)));
        let words = words
            .map(|(element, component)| word(program, claim, group, extent.resource, element, component));
        words.map(Option::unwrap_or_default).collect()
    });
    group.shared.iter().cloned().chain(tiles).collect()
}

/// Which of these rows is the array's or the resource's.
pub fn row_of(program: &Program, claim: &Collective, global: GlobalId) -> Option<usize> {
    let in_shared = program.shared.iter().position(|(known, _)| *known == global);
    let tiles = || claim.tiles.iter().position(|extent| extent.resource == global);
    in_shared.or_else(|| Some(program.shared.len() + tiles()?))
}

/// Where the elements begin further on in each group, no group stores to those of the next one.
pub fn keep_apart(program: &Program, claim: &Collective) -> Result<(), String> {
    for seed in 1..=SEEDS {
        let mut group = Group::new(program, seed, Order::InTurn, seed);
        if group.run(None) == End::TooLong {
            continue;
        }
        for extent in &claim.tiles {
            let (start, step) = start(program, extent, &group).ok_or("no start")?;
            let Some(step) = step else { continue };
            let mut stores = group
                .written
                .keys()
                .filter(|(resource, ..)| *resource == extent.resource);
            let strays = stores.find(|(_, index, _)| index[0].wrapping_sub(start) >= step);
            if let Some((_, index, _)) = strays {
                return Err(format!("group {:?} stores to {index:?}", group.group_id(0)));
            }
        }
    }
    Ok(())
}
