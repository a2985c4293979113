//! Fixes as a property: whatever ladder is written at random, what is offered for it is proved equal to it, once it is
//! made and read again, in every reading that the generator knows, and is found no more.

#![expect(clippy::print_stdout, reason = "the figures are worth seeing")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use shaderlint_fuzz::{Checked, Feature, Ladder, check_fixes, ladder, seeds_asked};

/// A panic tells what is wrong, too, and the next ladder is looked at.
fn check(ladder: &Ladder) -> Result<Checked, String> {
    let text = ladder.text.as_bytes();
    let checked = catch_unwind(AssertUnwindSafe(|| check_fixes(text, &ladder.readings)));
    checked.unwrap_or_else(|panic| Err(panic.downcast_ref::<String>().cloned().unwrap_or_default()))
}

#[test]
fn fixes_of_ladders_are_right() {
    let mut tally: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    let mut of_features: BTreeMap<Feature, [u32; 3]> = BTreeMap::new();
    let (mut wrong, mut count, mut slips, mut offered, mut offered_slips) = (String::new(), 0, 0, 0, 0);
    let (mut plain, mut offered_plain, mut readings, mut failures) = (0, 0, 0, 0);
    let seeds = seeds_asked(0..600).into_par_iter().map(|seed| {
        let ladder = ladder(seed);
        let checked = check(&ladder);
        (seed, ladder, checked)
    });
    for (seed, ladder, checked) in seeds.collect::<Vec<_>>() {
        count += 1;
        slips += u32::from(ladder.has_slip);
        readings += ladder.readings.len();
        let is_plain = !ladder.has_slip && ladder.features.is_empty();
        plain += u32::from(is_plain);
        for feature in &ladder.features {
            let [drawn, ..] = of_features.entry(*feature).or_default();
            *drawn += 1;
        }
        match checked {
            Ok(checked) => {
                for (rule, has_fix) in &checked.found {
                    let [found, fixes] = tally.entry(rule).or_default();
                    *found += 1;
                    *fixes += u32::from(*has_fix);
                }
                let has_fix = checked.found.iter().any(|(_, has_fix)| *has_fix);
                offered += u32::from(has_fix && !ladder.has_slip);
                offered_slips += u32::from(has_fix && ladder.has_slip);
                offered_plain += u32::from(has_fix && is_plain);
                for feature in ladder.features {
                    let [_, fixed, _] = of_features.entry(feature).or_default();
                    *fixed += u32::from(has_fix);
                }
            }
            Err(said) => {
                failures += 1;
                for feature in &ladder.features {
                    let [.., failed] = of_features.entry(*feature).or_default();
                    *failed += 1;
                }
                let _ = writeln!(wrong, "seed {seed}: {}\n{}\n{said}\n", ladder.about, ladder.text);
            }
        }
    }
    println!(
        "{count} ladders in {readings} readings, {slips} with a slip; fixes for {offered} of those without and \
         {offered_slips} of those with; {failures} are wrong"
    );
    for (rule, [found, fixes]) in &tally {
        println!("{rule}: {found} found, {fixes} fixes");
    }
    for (feature, [drawn, fixed, failed]) in &of_features {
        println!(
            "{feature:?}: {drawn} ladders, {fixed} with fixes that are right, {failed} with one that is wrong"
        );
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(
        3 * offered_plain > plain,
        "{offered_plain} of {plain} ladders are fixed that nothing stands about"
    );
    // What no fix is ever offered beside is not checked at all.
    for feature in Feature::ALL.into_iter().filter(|_| count >= 600) {
        let fixed = of_features.get(&feature).map_or(0, |[_, fixed, _]| *fixed);
        assert!(fixed > 0, "no fix beside {feature:?}");
    }
}
