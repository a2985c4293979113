//! Fixes as a property: whatever ladder is written at random, what is offered for it is proved equal to it, once it is
//! made and read again, and is found no more.

#![expect(clippy::print_stdout, reason = "the figures are worth seeing")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use shaderlint_fuzz::{check_fixes, ladder, seeds_asked};

#[test]
fn fixes_of_ladders_are_right() {
    let mut tally: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    let (mut wrong, mut count, mut offered, mut slips, mut offered_slips) = (String::new(), 0, 0, 0, 0);
    for seed in seeds_asked(0..300) {
        let ladder = ladder(seed);
        count += 1;
        slips += u32::from(ladder.has_slip);
        // A panic tells what is wrong, and the next ladder is looked at.
        match catch_unwind(AssertUnwindSafe(|| check_fixes(ladder.text.as_bytes()))) {
            Ok(checked) => {
                for (rule, has_fix) in &checked.found {
                    let [found, fixes] = tally.entry(rule).or_default();
                    *found += 1;
                    *fixes += u32::from(*has_fix);
                }
                let has_fix = checked.found.iter().any(|(_, has_fix)| *has_fix);
                offered += u32::from(has_fix && !ladder.has_slip);
                offered_slips += u32::from(has_fix && ladder.has_slip);
            }
            Err(panic) => {
                let said = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                let _ = writeln!(wrong, "seed {seed}: {}\n{}\n{said}\n", ladder.about, ladder.text);
            }
        }
    }
    println!(
        "{count} ladders, {slips} with a slip; fixes for {offered} of those without and {offered_slips} of those with"
    );
    for (rule, [found, fixes]) in &tally {
        println!("{rule}: {found} found, {fixes} fixes");
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(
        3 * offered > count - slips,
        "{offered} of {count} ladders are fixed"
    );
}
