//! The shapes of ladders.

use std::fmt::Write;

use super::draft::{Draft, Shape};

/// A random shape.
pub(super) fn shape(draft: &mut Draft<'_>) -> Shape {
    match draft.random.below(24) {
        0..=3 => doubling(draft),
        4 => doubling_in_register(draft),
        5 | 6 => double_buffered(draft),
        7 | 8 => blelloch(draft),
        9 => sklansky(draft),
        10 => serial(draft),
        11..=15 => reduction(draft),
        16 | 17 => slot_claim(draft),
        18 => single_cell(draft),
        19 => doubling_of_two(draft),
        20 => rungs(draft),
        21 | 22 => choice(draft),
        _ => bins(draft),
    }
}

fn load(draft: &mut Draft<'_>) -> String {
    let value = draft.value();
    match draft.random.below(4) {
        0 => format!("$T $w = {value}; $g[$i] = $w; $SYNC;"),
        _ => format!("$g[$i] = {value}; $SYNC;"),
    }
}

/// The store of a scan: all of it, exclusive, backwards, or the total.
fn store(draft: &mut Draft<'_>) -> String {
    let place = draft.place();
    let identity = draft.identity();
    match draft.random.below(9) {
        0 => format!("$out[{place}] = $i > 0 ? $g[$i - 1] : {identity};"),
        1 => format!("if ($i == 0) $out[{place}] = {identity}; else $out[{place}] = $g[$i - 1];"),
        2 => format!("$out[{place}] = $g[$last - $i];"),
        3 => format!("$out[{place}] = $g[$last];"),
        4 => format!(
            "$out[{place}] = $g[$i]; $SYNC; $g[$i] = {identity}; $SYNC; $out[{place}] -= $g[$last - $i];"
        ),
        5 => format!("$T $b = $g[$i] - $g[$last]; $out[{place}] = $b;"),
        _ => format!("$out[{place}] = $g[$i];"),
    }
}

/// The scan of Hillis and Steele, or Kogge and Stone, with two barriers per step.
fn doubling(draft: &mut Draft<'_>) -> Shape {
    let (guard, other, bound, most) = match draft.random.below(12) {
        // From the other end.
        0 => ("$i + $s < $n", "$g[$i + $s]", "$n", draft.threads),
        // Each half separately.
        1 if draft.is_power_of_two() => (
            "($i & ($half - 1)) >= $s",
            "$g[$i - $s]",
            "$half",
            draft.threads / 2,
        ),
        2 if draft.index == "int" => ("$i - $s >= 0", "$g[$i - $s]", "$n", draft.threads),
        _ => ("$i >= $s", "$g[$i - $s]", "$n", draft.threads),
    };
    let form = draft.random.below(4);
    let identity = draft.identity();
    let step = |draft: &mut Draft<'_>, s: &str| {
        let (guard, other) = (guard.replace("$s", s), other.replace("$s", s));
        match form {
            0 => format!(
                "$T $v = {guard} ? {other} : {identity}; $SYNC; {} $SYNC;",
                draft.onto("$g[$i]", "$v")
            ),
            1 => {
                let onto = draft.onto("$v", &other);
                format!(
                    "$T $v = $g[$i]; {} $SYNC; $g[$i] = $v; $SYNC;",
                    draft.when(&guard, &onto)
                )
            }
            2 => {
                let (get, onto) = (format!("$v = {other};"), draft.onto("$g[$i]", "$v"));
                let (get, onto) = (draft.when(&guard, &get), draft.when(&guard, &onto));
                format!("$T $v = {identity}; {get} $SYNC; {onto} $SYNC;")
            }
            _ => {
                let sum = draft.combine("$g[$i]", &other);
                format!("$T $v; if ({guard}) $v = {sum}; else $v = $g[$i]; $SYNC; $g[$i] = $v; $SYNC;")
            }
        }
    };
    Shape {
        name: "doubling",
        globals: "groupshared $T $g[$n];\n".to_owned(),
        load: load(draft),
        ladder: draft.doubling(bound, most, step),
        store: store(draft),
        is_callable: true,
    }
}

/// Two scans with the same steps, in two arrays or in two members of a struct.
fn doubling_of_two(draft: &mut Draft<'_>) -> Shape {
    let (globals, first, second) = match draft.random.below(3) {
        0 => (
            "groupshared $T $g[$n]; groupshared $T $h[$n];\n",
            "$g[@]",
            "$h[@]",
        ),
        1 => (
            "struct $pair { $T left; $T right; }; groupshared $pair $g[$n];\n",
            "$g[@].left",
            "$g[@].right",
        ),
        _ => (
            "struct $pair { uint first; $T left; $T right; }; groupshared $pair $g[$n];\n",
            "$g[@].right",
            "$g[@].left",
        ),
    };
    let at = |place: &str, index: &str| place.replace('@', index);
    let (one, other) = (at(first, "$i"), at(second, "$i"));
    let threads = draft.threads;
    let (value, more) = (draft.value(), draft.value());
    let identity = draft.identity();
    let form = draft.random.below(3);
    let ladder = draft.doubling("$n", threads, |draft, s| {
        let before = format!("$i - {s}");
        let (left, right) = (at(first, &before), at(second, &before));
        let onto = [draft.onto(&one, "$v"), draft.onto(&other, "$b")].concat();
        match form {
            0 => format!(
                "$T $v = {identity}; $T $b = {identity}; if ($i >= {s}) {{ $v = {left}; $b = {right}; }} $SYNC; {onto} $SYNC;"
            ),
            // One of the two is not scanned.
            1 => format!(
                "$T $v = $i >= {s} ? {left} : {identity}; $SYNC; {} $SYNC;",
                draft.onto(&one, "$v")
            ),
            _ => format!(
                "$T $v = $i >= {s} ? {left} : {identity}; $T $b = $i >= {s} ? {right} : {identity}; $SYNC; {onto} $SYNC;"
            ),
        }
    });
    let place = draft.place();
    Shape {
        name: "doubling of two",
        globals: globals.to_owned(),
        load: format!("{one} = {value}; {other} = {more}; $SYNC;"),
        ladder,
        store: match draft.random.below(3) {
            0 => format!("$out[{place}] = {one};"),
            _ => format!("$out[{place}] = {one} - {other};"),
        },
        is_callable: true,
    }
}

/// A reduction with macro calls as its rungs.
fn rungs(draft: &mut Draft<'_>) -> Shape {
    draft.make_power_of_two();
    let onto = draft.onto("$g[$i]", "$g[$i + S]");
    let step = draft.when("$i < S", &onto);
    let (behind, end) = match draft.random.below(3) {
        0 => ("$SYNC;", ""),
        1 => ("$SYNC;", ";"),
        _ => ("$SYNC", ";"),
    };
    let rounds = (0..draft.threads.ilog2()).rev();
    let calls = rounds.map(|round| format!("$rung({}){end}", 1u32 << round));
    let calls: Vec<String> = calls.collect();
    let of_one = "if ($i == 0) $out[$group.x] = $g[0];".to_owned();
    Shape {
        name: "rungs of a macro",
        globals: format!("groupshared $T $g[$n];\n#define $rung(S) {step} {behind}\n"),
        load: load(draft),
        ladder: calls.join(" "),
        store: of_one,
        is_callable: true,
    }
}

/// The doubling scan with the sum in a register.
fn doubling_in_register(draft: &mut Draft<'_>) -> Shape {
    let value = draft.value();
    let threads = draft.threads;
    let ladder = draft.doubling("$n", threads, |draft, s| {
        let onto = draft.onto("$w", &format!("$g[$i - {s}]"));
        let onto = draft.when(&format!("$i >= {s}"), &onto);
        format!("$g[$i] = $w; $SYNC; {onto} $SYNC;")
    });
    let place = draft.place();
    let store = match draft.random.below(3) {
        0 => format!("$out[{place}] = $w - $src[{place}];"),
        _ => format!("$out[{place}] = $w;"),
    };
    Shape {
        name: "doubling in a register",
        globals: "groupshared $T $g[$n];\n".to_owned(),
        load: format!("$T $w = {value};"),
        ladder,
        store,
        is_callable: false,
    }
}

/// A scan with one barrier per step, from one array or half to the other.
fn double_buffered(draft: &mut Draft<'_>) -> Shape {
    let place = draft.place();
    let value = draft.value();
    let threads = draft.threads;
    let (globals, before, from, to, turn) = match draft.random.below(4) {
        0 => (
            "groupshared $T $g[$twice];\n",
            "$U $to = 0; $U $from = $n;",
            "$g[$from + ",
            "$g[$to + ",
            "$to = $n - $to; $from = $n - $to;",
        ),
        1 => (
            "groupshared $T $g[2][$n];\n",
            "$U $to = 0; $U $from = 1;",
            "$g[$from][",
            "$g[$to][",
            "$to = 1 - $to; $from = 1 - $to;",
        ),
        2 => (
            "groupshared $T $g[2 * $n];\n",
            "$U $to = 0; $U $from = 1;",
            "$g[$from * $n + ",
            "$g[$to * $n + ",
            "$to ^= 1; $from ^= 1;",
        ),
        _ => {
            let step = |draft: &mut Draft<'_>, s: &str| {
                let one = |draft: &mut Draft<'_>, to: &str, from: &str| {
                    let sum = draft.combine(&format!("{from}[$i]"), &format!("{from}[$i - {s}]"));
                    format!("{to}[$i] = $i >= {s} ? {sum} : {from}[$i];")
                };
                let (back, forth) = (one(draft, "$g", "$h"), one(draft, "$h", "$g"));
                format!("if ($flip) {{ {back} }} else {{ {forth} }} $flip = !$flip; $SYNC;")
            };
            return Shape {
                name: "double-buffered",
                globals: "groupshared $T $g[$n]; groupshared $T $h[$n];\n".to_owned(),
                load: format!("$g[$i] = {value}; $SYNC; bool $flip = false;"),
                ladder: draft.doubling("$n", threads, step),
                store: format!("$out[{place}] = $flip ? $h[$i] : $g[$i];"),
                is_callable: false,
            };
        }
    };
    let turns_last = draft.random.once_in(2);
    let step = |draft: &mut Draft<'_>, s: &str| {
        // The next step reads the half that is written now.
        let (from, to) = if turns_last { (to, from) } else { (from, to) };
        let sum = draft.combine(&format!("{from}$i]"), &format!("{from}$i - {s}]"));
        let write = match draft.random.below(2) {
            0 => format!("{to}$i] = $i >= {s} ? {sum} : {from}$i];"),
            _ => format!("if ($i >= {s}) {to}$i] = {sum}; else {to}$i] = {from}$i];"),
        };
        if turns_last {
            format!("{write} {turn} $SYNC;")
        } else {
            format!("{turn} {write} $SYNC;")
        }
    };
    Shape {
        name: "double-buffered",
        globals: globals.to_owned(),
        load: format!("{before} {to}$i] = {value}; $SYNC;"),
        ladder: draft.doubling("$n", threads, step),
        store: format!("$out[{place}] = {to}$i];"),
        is_callable: false,
    }
}

/// The possible uses of the total in `$g[end]` before a thread puts the identity there: the declaration and the
/// statement.
fn saved(draft: &mut Draft<'_>, end: &str) -> (&'static str, String) {
    let buffer = "RWStructuredBuffer<$T> $total;\n";
    match draft.random.below(6) {
        0 => (buffer, format!("$total[$group.x] = $g[{end}];")),
        1 => (buffer, format!("$T $v = $g[{end}]; $total[$group.x] = $v;")),
        2 => (buffer, format!("$total[$group.x * 2 + 1] = $g[{end}];")),
        _ => ("", String::new()),
    }
}

/// Up and down a tree, with as many elements as threads or twice as many.
fn blelloch(draft: &mut Draft<'_>) -> Shape {
    draft.make_power_of_two();
    let identity = draft.identity();
    let onto = |draft: &mut Draft<'_>, a: &str, b: &str| draft.onto(&format!("$g[{a}]"), &format!("$g[{b}]"));
    if draft.random.once_in(2) {
        let up = onto(draft, "$b", "$a");
        let down = onto(draft, "$b", "$a").replace("$g[$a]", "$v");
        let halve = draft.one(&["$to >>= 1;", "$to /= 2;"]);
        // With padding between the elements, against bank conflicts.
        let padding = draft.random.once_in(3).then(|| {
            let cells = draft.one(&[
                "(i) + ((i) >> 2)",
                "(i) + ((i) >> 4)",
                "(i) + (i) / 32",
                "(i) + ((i) >> 1)",
            ]);
            format!("#define $pad(i) ({cells})\n")
        });
        let place = |element: &str| match padding {
            Some(_) => format!("$pad({element})"),
            None => element.to_owned(),
        };
        let [at, next] = ["$to * (2 * $i + 1) - 1", "$to * (2 * $i + 2) - 1"].map(place);
        let (end, length) = (place("$end"), place("$twice"));
        let (left, right) = (place("2 * $i"), place("2 * $i + 1"));
        let (total, save) = saved(draft, &end);
        let ladder = format!(
            "$U $to = 1; for ($U $s = $n; $s > 0; $s >>= 1) {{ $SYNC; if ($i < $s) {{ $U $a = {at}; $U $b = {next}; {up} }} $to *= 2; }}
             if ($i == 0) {{ {save} $g[{end}] = {identity}; }}
             for ($U $k = 1; $k < $twice; $k *= 2) {{ {halve} $SYNC; if ($i < $k) {{ $U $a = {at}; $U $b = {next};
             $T $v = $g[$a]; $g[$a] = $g[$b]; {down} }} }} $SYNC;"
        );
        return Shape {
            name: "Blelloch of pairs",
            globals: format!(
                "{total}{}groupshared $T $g[{length}];\n",
                padding.as_deref().unwrap_or_default()
            ),
            load: format!(
                "$g[{left}] = $src[$group.x * $twice + 2 * $i]; $g[{right}] = $src[$group.x * $twice + 2 * $i + 1];"
            ),
            ladder,
            store: format!(
                "$out[$group.x * $twice + 2 * $i] = $g[{left}]; $out[$group.x * $twice + 2 * $i + 1] = $g[{right}];"
            ),
            is_callable: total.is_empty(),
        };
    }
    let up = onto(draft, "$a", "$a - $s");
    let (total, save) = saved(draft, "$last");
    let ladder = if draft.random.once_in(2) {
        let down = onto(draft, "$a", "$a - $s").replace("$g[$a - $s]", "$v");
        format!(
            "$U $s; for ($s = 1; $s < $n; $s *= 2) {{ $U $a = ($i + 1) * $s * 2 - 1; if ($a < $n) {{ {up} }} $SYNC; }}
             if ($i == $last) {{ {save} $g[$last] = {identity}; }} $SYNC;
             for ($s = $half; $s > 0; $s >>= 1) {{ $U $a = ($i + 1) * $s * 2 - 1;
             if ($a < $n) {{ $T $v = $g[$a - $s]; $g[$a - $s] = $g[$a]; {down} }} $SYNC; }}"
        )
    } else {
        // The tree of Brent and Kung.
        let down = onto(draft, "$a + $s", "$a");
        format!(
            "$U $s; for ($s = 1; $s < $n; $s *= 2) {{ $U $a = ($i + 1) * $s * 2 - 1; if ($a < $n) {{ {up} }} $SYNC; }}
             for ($s = $n / 4; $s > 0; $s /= 2) {{ $U $a = ($i + 1) * $s * 2 - 1; if ($a + $s < $n) {{ {down} }} $SYNC; }}"
        )
    };
    Shape {
        name: "Blelloch",
        globals: format!("{total}groupshared $T $g[$n];\n"),
        load: load(draft),
        ladder,
        store: store(draft),
        is_callable: total.is_empty(),
    }
}

fn sklansky(draft: &mut Draft<'_>) -> Shape {
    draft.make_power_of_two();
    let threads = draft.threads;
    let step = |draft: &mut Draft<'_>, s: &str| {
        let onto = draft.onto("$g[$i]", &format!("$g[($i & ~({s} - 1)) - 1]"));
        let guard = draft
            .one(&["$i & S", "($i & S) != 0", "($i / S) % 2 == 1"])
            .replace('S', s);
        format!("{} $SYNC;", draft.when(&guard, &onto))
    };
    Shape {
        name: "Sklansky",
        globals: "groupshared $T $g[$n];\n".to_owned(),
        load: load(draft),
        ladder: draft.doubling("$n", threads, step),
        store: store(draft),
        is_callable: true,
    }
}

/// One thread for all, or each thread for itself.
fn serial(draft: &mut Draft<'_>) -> Shape {
    let identity = draft.identity();
    let ladder = match draft.random.below(3) {
        0 => {
            let onto = draft.onto("$g[$k]", "$g[$k - 1]");
            format!("if ($i == 0) {{ for ($U $k = 1; $k < $n; ++$k) {{ {onto} }} }} $SYNC;")
        }
        1 => {
            let onto = draft.onto("$v", "$b");
            format!(
                "if ($i == 0) {{ $T $v = {identity}; for ($U $k = 0; $k < $n; $k++) {{ $T $b = $g[$k]; $g[$k] = $v; {onto} }} }} $SYNC;"
            )
        }
        _ => {
            let onto = draft.onto("$v", "$g[$k]");
            format!(
                "$T $v = {identity}; for ($U $k = 0; $k <= $i; $k++) {{ {onto} }} $SYNC; $g[$i] = $v; $SYNC;"
            )
        }
    };
    Shape {
        name: "serial",
        globals: "groupshared $T $g[$n];\n".to_owned(),
        load: load(draft),
        ladder,
        store: store(draft),
        is_callable: true,
    }
}

fn reduction(draft: &mut Draft<'_>) -> Shape {
    let form = draft.random.below(8);
    if form < 6 {
        draft.make_power_of_two();
    }
    let threads = draft.threads;
    let onto = |draft: &mut Draft<'_>, condition: &str, a: &str, b: &str| {
        let onto = draft.onto(&format!("$g[{a}]"), &format!("$g[{b}]"));
        draft.when(condition, &onto)
    };
    let ladder = match form {
        0..=2 => draft.halving(|draft, s| {
            format!(
                "{} $SYNC;",
                onto(draft, &format!("$i < {s}"), "$i", &format!("$i + {s}"))
            )
        }),
        3 => draft.doubling("$n", threads, |draft, s| {
            let guard = draft
                .one(&["$i % (2 * S) == 0", "($i & (2 * S - 1)) == 0"])
                .replace('S', s);
            format!("{} $SYNC;", onto(draft, &guard, "$i", &format!("$i + {s}")))
        }),
        4 => draft.doubling("$n", threads, |draft, s| {
            format!(
                "$U $a = 2 * {s} * $i; {} $SYNC;",
                onto(draft, "$a < $n", "$a", &format!("$a + {s}"))
            )
        }),
        5 => draft.halving(|draft, s| {
            let sum = draft.combine("$v", "$g[$i]");
            format!("$T $v = $g[$i ^ {s}]; $SYNC; $g[$i] = {sum}; $SYNC;")
        }),
        6 => {
            let identity = draft.identity();
            let onto = draft.onto("$v", "$g[$k]");
            format!(
                "if ($i == 0) {{ $T $v = {identity}; for ($U $k = 0; $k < $n; ++$k) {{ {onto} }} $g[0] = $v; }} $SYNC;"
            )
        }
        _ => {
            let step = onto(draft, "$i < $k / 2", "$i", "$i + ($k + 1) / 2");
            format!("for ($U $k = $n; $k > 1; $k = ($k + 1) / 2) {{ {step} $SYNC; }}")
        }
    };
    let place = draft.place();
    let store = match draft.random.below(4) {
        0 => format!("$out[{place}] = $g[0];"),
        1 => format!("$T $b = $g[0]; $SYNC; $out[{place}] = $src[{place}] - $b;"),
        _ => "if ($i == 0) $out[$group.x] = $g[0];".to_owned(),
    };
    Shape {
        name: "reduction",
        globals: "groupshared $T $g[$n];\n".to_owned(),
        load: load(draft),
        ladder,
        store,
        is_callable: true,
    }
}

/// A ladder that carries a payload of the least or greatest element.
fn choice(draft: &mut Draft<'_>) -> Shape {
    draft.make_atomic();
    draft.make_power_of_two();
    if !draft.random.once_in(6) {
        draft.scalar = "uint";
    }
    let (globals, key, index) = match draft.random.below(4) {
        0 => (
            "groupshared $T $g[$n]; groupshared $T $h[$n];\n",
            "$g[@]",
            "$h[@]",
        ),
        1 => (
            "struct $pair { float3 before; $T left; $T right; }; groupshared $pair $g[$n];\n",
            "$g[@].right",
            "$g[@].left",
        ),
        _ => (
            "struct $pair { $T left; $T right; }; groupshared $pair $g[$n];\n",
            "$g[@].left",
            "$g[@].right",
        ),
    };
    let is_whole = globals.starts_with("struct $pair { $T") && draft.random.once_in(2);
    let at = |place: &str, element: &str| place.replace('@', element);
    let (own_key, own_index) = (at(key, "$i"), at(index, "$i"));
    let is_less = draft.one(&["> ", "> ", "> ", "< ", "< ", ">= "]);
    let is_guarded_inside = draft.random.once_in(2);
    let step = |draft: &mut Draft<'_>, guard: &str, other: &str| {
        let (key, index) = (at(key, other), at(index, other));
        let copies = if is_whole {
            format!("$g[$i] = $g[{other}];")
        } else {
            format!("{own_key} = {key}; {own_index} = {index};")
        };
        let is_better = format!("{own_key} {is_less}{key}");
        if is_guarded_inside {
            let inner = draft.when(&is_better, &copies);
            format!("if ({guard}) {{ {inner} }} $SYNC;")
        } else {
            let step = draft.when(&format!("{guard} && {is_better}"), &copies);
            format!("{step} $SYNC;")
        }
    };
    let threads = draft.threads;
    let ladder = if draft.random.once_in(4) {
        draft.doubling("$n", threads, |draft, s| {
            step(draft, &format!("$i % (2 * {s}) == 0"), &format!("$i + {s}"))
        })
    } else {
        draft.halving(|draft, s| step(draft, &format!("$i < {s}"), &format!("$i + {s}")))
    };
    let value = draft.value();
    let value = match draft.random.below(3) {
        0 => format!("({value}) & 7"),
        _ => value,
    };
    let more = match draft.random.below(3) {
        0 => draft.value(),
        _ => "$i".to_owned(),
    };
    let place = draft.place();
    let (key, index) = (at(key, "0"), at(index, "0"));
    Shape {
        name: "choice",
        globals: globals.to_owned(),
        load: format!("{own_key} = {value}; {own_index} = {more}; $SYNC;"),
        ladder,
        store: match draft.random.below(4) {
            0 => format!("$out[{place}] = {key} - {index};"),
            1 => format!("$out[{place}] = {index}; $SYNC; {own_key} = 0;"),
            _ => format!("if ($i == 0) $out[$group.x] = {key} * 3 + {index};"),
        },
        is_callable: true,
    }
}

/// The name of the atomic for the operator.
fn interlocked(draft: &mut Draft<'_>) -> &'static str {
    use super::draft::Operator::{Add, And, Max, Min, Multiply, Or, Xor};
    match draft.operator {
        Add | Multiply => "InterlockedAdd",
        Min => "InterlockedMin",
        Max => "InterlockedMax",
        And => "InterlockedAnd",
        Or => "InterlockedOr",
        Xor => "InterlockedXor",
    }
}

/// Slots of a list, claimed with one atomic each.
fn slot_claim(draft: &mut Draft<'_>) -> Shape {
    draft.make_atomic();
    draft.make_sum();
    let value = draft.value();
    let amount = draft.one(&["1", "1", "1u", "2", "1 + ($v & 3)"]);
    let condition = draft.one(&["($v & 1) != 0", "$v > 3", "$v % 3 == 0", "$i < $half", "true"]);
    let in_function = draft.random.once_in(4);
    let (globals, claim) = match draft.random.below(4) {
        0 => (
            "RWStructuredBuffer<uint> $counter;\n",
            "InterlockedAdd($counter[0], AMOUNT, $slot);",
        ),
        1 => (
            "RWByteAddressBuffer $counter;\n",
            "$counter.InterlockedAdd(0, AMOUNT, $slot);",
        ),
        2 => (
            "RWStructuredBuffer<uint> $counter;\n",
            "$slot = $counter.IncrementCounter();",
        ),
        _ => (
            "groupshared uint $counter;\n",
            "InterlockedAdd($counter, AMOUNT, $slot);",
        ),
    };
    let is_shared = globals.starts_with("groupshared");
    let claim = claim.replace("AMOUNT", amount);
    let mut globals = globals.to_owned();
    let claim = if in_function && !claim.contains("$v") {
        let _ = writeln!(globals, "uint $call() {{ uint $slot; {claim} return $slot; }}");
        "uint $slot = $call();".to_owned()
    } else {
        format!("uint $slot{}; {claim}", draft.one(&["", " = 0"]))
    };
    let first = if is_shared {
        // Room for two claims of up to four slots: groups that wrote into each other's would differ from run to run.
        "$group.x * 8 * $n + $slot"
    } else {
        "$slot"
    };
    let to = if claim.contains("$v") {
        // Writes all that is claimed: otherwise the unwritten places would differ from run to run.
        format!("for (uint $k = 0; $k < {amount}; ++$k) $out[{first} + $k] = $v;")
    } else {
        format!("$out[{first}] = $v;")
    };
    let before = if is_shared {
        "if ($i == 0) $counter = 0; $SYNC;"
    } else {
        ""
    };
    Shape {
        name: "slot claim",
        globals,
        load: format!("{before} $T $v = {value};"),
        ladder: format!("if ({condition}) {{ {claim} {to} }}"),
        store: String::new(),
        is_callable: false,
    }
}

/// One cell for all threads.
fn single_cell(draft: &mut Draft<'_>) -> Shape {
    draft.make_atomic();
    let value = draft.value();
    let identity = draft.identity();
    let atomic = interlocked(draft);
    let guard = draft.one(&["", "", "if ($v > 2)", "if (($i & 1) == 0)"]);
    if draft.random.once_in(2) {
        return Shape {
            name: "cell of a buffer",
            globals: "RWStructuredBuffer<$T> $total;\n".to_owned(),
            load: format!("$T $v = {value};"),
            ladder: format!("{guard} {atomic}($total[0], $v);"),
            store: String::new(),
            is_callable: false,
        };
    }
    let result = match draft.random.below(3) {
        0 => "$out[$group.x * $n + $i] = $g - $v;",
        _ => "if ($i == 0) $out[$group.x] = $g;",
    };
    Shape {
        name: "cell of the group",
        globals: "groupshared $T $g;\n".to_owned(),
        load: format!("if ($i == 0) {{ $g = {identity}; }} $SYNC; $T $v = {value};"),
        ladder: format!("{guard} {atomic}($g, $v); $SYNC;"),
        store: result.to_owned(),
        is_callable: false,
    }
}

/// A few cells for all threads.
fn bins(draft: &mut Draft<'_>) -> Shape {
    draft.make_atomic();
    draft.make_sum();
    let value = draft.value();
    let bin = draft.one(&["$v & 3", "(uint)$v % 4", "$i & 3", "$v > 5 ? 1 : 0"]);
    let amount = draft.one(&["1", "1", "$v"]);
    if draft.random.once_in(2) {
        return Shape {
            name: "bins of a buffer",
            globals: "RWStructuredBuffer<$T> $total;\n".to_owned(),
            load: format!("$T $v = {value};"),
            ladder: format!("InterlockedAdd($total[{bin}], {amount});"),
            store: String::new(),
            is_callable: false,
        };
    }
    Shape {
        name: "bins of the group",
        globals: "groupshared $T $g[4];\n".to_owned(),
        load: format!("if ($i < 4) $g[$i] = 0; $SYNC; $T $v = {value};"),
        ladder: format!("InterlockedAdd($g[{bin}], {amount}); $SYNC;"),
        store: "if ($i < 4) $out[$group.x * 4 + $i] = $g[$i];".to_owned(),
        is_callable: false,
    }
}
