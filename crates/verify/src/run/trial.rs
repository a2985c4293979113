//! A flagged kernel and its fix: what to compare, and both kernels on one device.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Case, Comparison, Compiled, Device, InputPlan, Inputs, Mode, Outputs, RunError, TimingPlan, Tolerance,
    cases, compare, magnitude, make_inputs,
};
use crate::Lowered;

/// What to compare and to time.
#[derive(Clone, Debug)]
pub struct Trial {
    pub flagged: Lowered,
    pub fixed: Lowered,
    /// Both kernels with the changed statements repeated, from [`crate::lower_repeated`]. They are timed in addition
    /// to the whole kernels.
    pub ladders: Option<(Lowered, Lowered)>,
    /// The dispatches to compare.
    pub cases: Vec<Case>,
    /// The cases' buffers are exactly as long as the kernels reach ([`Trial::fit`]).
    pub are_lengths_known: bool,
    /// The depth of float additions in both kernels together; `None` compares floats bit for bit.
    pub depth: Option<u32>,
    /// Names of the buffers whose elements may be in any order.
    pub unordered: BTreeSet<String>,
    /// Names of the buffers that are not compared: their final contents are open.
    pub overwritten: BTreeSet<String>,
    /// Names of the buffers whose contents may depend on the order of threads and atomics; `None` if those of any
    /// buffer may. A difference in such a buffer proves nothing.
    pub contested: Option<BTreeSet<String>>,
    /// The reason why a difference proves nothing, if there is one, worded to follow "as".
    pub open: Option<String>,
    /// `None` means [`TimingPlan::for_adapter`].
    pub timing: Option<TimingPlan>,
    /// The inputs of the timed runs.
    pub timed_inputs: InputPlan,
    /// Compare only.
    pub is_untimed: bool,
}

/// How far into their buffers the kernels of a trial reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// By buffer, the number of elements for each thread of a dispatch.
    pub elements: BTreeMap<String, u32>,
    /// Every access was followed: the kernels reach no other elements.
    pub is_complete: bool,
}

impl Trial {
    /// See [`Trial::contested`].
    #[must_use]
    pub fn is_contested(&self, buffer: &str) -> bool {
        self.contested.as_ref().is_none_or(|names| names.contains(buffer))
    }

    /// The usual cases, compared exactly, with no unordered buffer.
    #[must_use]
    pub fn new(flagged: &Lowered, fixed: &Lowered) -> Self {
        Self {
            flagged: flagged.clone(),
            fixed: fixed.clone(),
            ladders: None,
            cases: cases(&InputPlan::default(), None),
            are_lengths_known: false,
            depth: None,
            unordered: BTreeSet::new(),
            overwritten: BTreeSet::new(),
            contested: Some(BTreeSet::new()),
            open: None,
            timing: None,
            timed_inputs: InputPlan::default(),
            is_untimed: false,
        }
    }

    /// Makes each buffer exactly as long as the kernels reach, if that is known. Devices differ beyond the end of a
    /// buffer: some let all such threads write to the last element.
    pub fn fit(&mut self, reached: Reached) {
        for case in &mut self.cases {
            case.inputs.reached.clone_from(&reached.elements);
        }
        self.timed_inputs.reached = reached.elements;
        let mut bindings = self.flagged.bindings.iter().chain(&self.fixed.bindings);
        // `reached` has no textures.
        self.are_lengths_known = reached.is_complete && bindings.all(|binding| binding.dimensions.is_none());
    }

    /// The case with larger buffers and textures, if their sizes are guessed; `None` if none are.
    #[must_use]
    pub fn ample(&self, case: &Case) -> Option<Case> {
        let guessed = self.guessed_lengths(case);
        (!guessed.is_empty()).then(|| with_ample(case, guessed))
    }

    /// The inputs of both kernels in a case.
    #[must_use]
    pub fn inputs(&self, case: &Case) -> Inputs {
        make_inputs(&[&self.flagged, &self.fixed], case.groups, &case.inputs)
    }

    /// The tolerance for the kernels' floats with these inputs.
    #[must_use]
    pub fn tolerance(&self, inputs: &Inputs) -> Tolerance {
        match self.depth {
            None => Tolerance::Exact,
            Some(depth) => Tolerance::Gamma {
                depth,
                magnitude: magnitude(&self.flagged, inputs),
            },
        }
    }

    /// The buffers and textures whose sizes are guessed.
    pub(super) fn guessed_lengths(&self, case: &Case) -> BTreeSet<String> {
        let all = || self.flagged.bindings.iter().chain(&self.fixed.bindings);
        all()
            .filter(|binding| binding.kind.is_array() && !case.inputs.lengths.contains_key(&binding.name))
            .filter(|binding| !all().any(|other| other.name == binding.name && other.is_asked))
            .map(|binding| binding.name.clone())
            .collect()
    }

    /// Compares the kernels' outputs.
    pub(super) fn compare(&self, inputs: &Inputs, flagged: &Outputs, fixed: &Outputs) -> Comparison {
        let tolerance = self.tolerance(inputs);
        let kernels = [&self.flagged, &self.fixed];
        compare(
            &kernels,
            inputs,
            flagged,
            fixed,
            tolerance,
            &self.unordered,
            &self.overwritten,
        )
    }
}

/// The case with much larger buffers and textures of these names.
pub(super) fn with_ample(case: &Case, ample: BTreeSet<String>) -> Case {
    Case {
        inputs: InputPlan {
            ample,
            ..case.inputs.clone()
        },
        ..case.clone()
    }
}

/// A trial on one device.
pub(super) struct TrialRun<'t> {
    pub trial: &'t Trial,
    device: &'t Device,
    flagged: Compiled<'t>,
    fixed: Compiled<'t>,
}

impl<'t> TrialRun<'t> {
    pub fn new(trial: &'t Trial, device: &'t Device) -> Result<Self, RunError> {
        Ok(Self {
            trial,
            device,
            flagged: device.compile(&trial.flagged, Mode::Checked)?,
            fixed: device.compile(&trial.fixed, Mode::Checked)?,
        })
    }

    pub fn run_flagged(&self, inputs: &Inputs, groups: [u32; 3]) -> Result<Outputs, RunError> {
        self.flagged.run(self.device, inputs, groups)
    }

    /// Runs both kernels and compares their outputs.
    pub fn compare(&self, inputs: &Inputs, groups: [u32; 3]) -> Result<Comparison, RunError> {
        let flagged = self.run_flagged(inputs, groups)?;
        let fixed = self.fixed.run(self.device, inputs, groups)?;
        Ok(self.trial.compare(inputs, &flagged, &fixed))
    }
}
