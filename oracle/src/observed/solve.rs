//! Dividing the executions of an operation into instances that explain what was seen.

use std::cell::Cell;
use std::collections::BTreeMap;

use tangle_program::case::Tier;
use tangle_program::subgroup::{Severity, Spread, SubgroupOp, Uniform, lanes};
use tangle_program::types::Scalar;

use super::group::{By, Class, Group, Instances};
use super::order::Order;
use super::segment::Segments;
use super::trace::{Bindings, Bound, Known, Step};
use super::{Broken, Status, TangleRule, masks};
use crate::machine::Evaluated;

/// Instances tried for one group at most; after that everything is accepted.
const BUDGET: u32 = 400;
/// Instances tried, for all groups together, to find out who must be together; after that nothing more is.
const LEARNING: u32 = 400;
/// Classes of a group at most, for it to be found out which must be together.
const FEW: usize = 8;
/// Partners of a class whose sets are all tried.
const MANY: usize = 9;

impl<'s, 'a> Group<'s, 'a> {
    /// A division into instances that explains everything seen: `Ok(None)` if the search was given up. `left` is how many instances may be
    /// tried.
    fn divide(&self, classes: &[Class], partners: &[Vec<bool>], left: &Cell<u32>) -> Result<Option<Division>, Refuted> {
        let placed = vec![false; classes.len()];
        let mut search = Search { group: self, classes, partners, placed, blocks: Vec::new(), left };
        match search.place() {
            Some(true) => Ok(Some(search.blocks)),
            Some(false) => Err(Refuted),
            None => Ok(None),
        }
    }

    fn is_refuted(&self, classes: &[Class], partners: &[Vec<bool>]) -> bool {
        matches!(self.divide(classes, partners, &Cell::new(BUDGET)), Err(Refuted))
    }

    /// Which classes may be in one instance. Results of an operation that gives all lanes the same must be the same.
    fn partners(&self, classes: &[Class], ends: &[Option<(usize, u64)>]) -> Vec<Vec<bool>> {
        let same = self.is_the_same_for_all();
        let shown: Vec<_> = classes.iter().map(|class| self.shown(class).0).collect();
        let agree =
            |x: &[Option<u64>], y: &[Option<u64>]| x.iter().zip(y).all(|(x, y)| x.is_none() || y.is_none() || x == y);
        let apart = |x: Option<(usize, u64)>, y: Option<(usize, u64)>| match (x, y) {
            (Some((op, x)), Some((other, y))) => op == other && x != y,
            _ => false,
        };
        let may = |i: usize, j: usize| {
            i != j
                && classes[i].lanes & classes[j].lanes == 0
                && !apart(ends[i], ends[j])
                && (!same || agree(&shown[i], &shown[j]))
        };
        (0..classes.len()).map(|i| (0..classes.len()).map(|j| may(i, j)).collect()).collect()
    }
}

/// No division explains what was seen.
struct Refuted;

/// The classes of each instance.
type Division = Vec<Vec<usize>>;

struct Search<'g, 's, 'a> {
    group: &'g Group<'s, 'a>,
    classes: &'g [Class],
    partners: &'g [Vec<bool>],
    placed: Vec<bool>,
    blocks: Vec<Vec<usize>>,
    left: &'g Cell<u32>,
}

impl Search<'_, '_, '_> {
    /// Places the classes not yet placed; `None` if there are too many ways.
    fn place(&mut self) -> Option<bool> {
        let next = (0..self.classes.len()).find(|&i| !self.placed[i] && self.group.is_seen(&self.classes[i]));
        let Some(i) = next else { return Some(true) };
        let others: Vec<usize> = (0..self.classes.len()).filter(|&j| !self.placed[j] && self.partners[i][j]).collect();
        let together = |j: &usize| {
            let steps = |k: usize| self.classes[k].parts.iter().map(|part| part.0);
            steps(*j).any(|step| steps(i).any(|other| other == step))
        };
        let home: Vec<usize> = others.iter().copied().filter(together).collect();
        let mut given_up = false;
        for likely in [home, Vec::new()] {
            match self.try_block(i, &likely) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => given_up = true,
            }
        }
        if others.len() > MANY {
            return None;
        }
        for set in 1..1usize << others.len() {
            let chosen: Vec<usize> =
                others.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1).map(|(_, &j)| j).collect();
            match self.try_block(i, &chosen) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => given_up = true,
            }
            if self.left.get() == 0 {
                return None;
            }
        }
        if given_up { None } else { Some(false) }
    }

    fn try_block(&mut self, i: usize, others: &[usize]) -> Option<bool> {
        let apart = |(n, &j): (usize, &usize)| others[..n].iter().any(|&k| !self.partners[j][k]);
        if others.iter().enumerate().any(apart) {
            return Some(false);
        }
        self.left.set(self.left.get().checked_sub(1)?);
        let block: Vec<usize> = [i].into_iter().chain(others.iter().copied()).collect();
        let classes: Vec<&Class> = block.iter().map(|&k| &self.classes[k]).collect();
        if !self.group.explains(&classes, &self.group.evaluate(&classes)) {
            return Some(false);
        }
        block.iter().for_each(|&k| self.placed[k] = true);
        self.blocks.push(block.clone());
        let rest = self.place();
        if rest != Some(true) {
            self.blocks.pop();
            block.iter().for_each(|&k| self.placed[k] = false);
        }
        rest
    }
}

/// What the steps of one run of a workgroup show. `found[subgroup]`: the paths of all its lanes are known.
pub(crate) fn solve(steps: &[Step<'_>], known: &[Known], tier: Tier, found: &[bool]) -> Bindings {
    let mut by_operation: BTreeMap<(usize, usize, usize), Vec<usize>> = BTreeMap::new();
    for (i, step) in steps.iter().enumerate() {
        // Tier maximal never mixes what does not come by at the same time.
        let time = if tier == Tier::Maximal { i } else { 0 };
        by_operation.entry((step.subgroup, step.op.id, time)).or_default().push(i);
    }
    // The lowest lane, and how often it came by: no other step has both.
    let visit = |step: &Step<'_>| {
        let lane = step.lanes.trailing_zeros();
        step.visits[lane as usize] << 7 | lane
    };
    let groups_of = |all: Vec<usize>| {
        let time = if tier == Tier::Maximal { visit(&steps[all[0]]) } else { 0 };
        let visitors = all.iter().fold(0, |visitors, &member| visitors | steps[member].lanes);
        let waiting = steps[all[0]].op.info.reach.waiting(visitors);
        waiting.map(move |within| {
            let members = all.iter().copied().filter(|&member| steps[member].lanes & within != 0).collect();
            Group { steps, members, within, time, tier }
        })
    };
    let groups: Vec<Group<'_, '_>> = by_operation.into_values().flat_map(groups_of).collect();
    let mut bindings = Bindings::new();
    let mut instances: Instances = steps.iter().map(|step| vec![None; step.size]).collect();
    let mut rest = Vec::new();
    let mut shows = Vec::new();
    for group in &groups {
        if !found[group.step().subgroup] {
            group.adopt(&mut bindings);
        } else if masks::shows_all(group) {
            match masks::read(group, &mut instances) {
                Ok(severity) => shows.push((group, group.classes(By::Seen), severity)),
                Err(broken) => group.broken(broken, &mut bindings),
            }
        } else {
            rest.push((group, group.classes(By::Seen)));
        }
    }
    // At tier maximal paths do not show straight code: they leave out the decisions that lanes come together behind.
    let ends = (tier != Tier::Maximal).then(|| Ends::new(steps, &instances));
    let mut segments = Segments::default();
    for (group, ..) in &shows {
        masks::divide(group, &instances, &mut segments);
    }
    let mut left = Cell::new(LEARNING);
    // Who must be together in one operation shows more of the order and the segments, and that more of other operations.
    let around = loop {
        let shown = shows.iter().map(|(_, classes, _)| classes);
        let open: Vec<&[Class]> = shown.chain(rest.iter().map(|(_, classes)| classes)).map(Vec::as_slice).collect();
        let order = Order::new(steps, known, &instances, &open);
        let mut around = Around { ends: ends.as_ref(), order, segments, left };
        let mut is_final = true;
        for (group, classes) in &mut rest {
            while group.learn(classes, &mut around) {
                is_final = false;
            }
        }
        if is_final {
            break around;
        }
        (segments, left) = (around.segments, around.left);
    };
    let cyclic = around.order.cyclic();
    let cyclic_by_sentences = || {
        let sure = known.iter().filter(|known| known.severity == Severity::Hard).cloned().collect::<Vec<_>>();
        let mut instances = instances.clone();
        let doubtful = shows.iter().filter(|(.., severity)| *severity > Severity::Hard);
        for &member in doubtful.flat_map(|(group, ..)| &group.members) {
            instances[member].fill(None);
        }
        Order::new(steps, &sure, &instances, &[]).cyclic()
    };
    let cyclic_by_sentences = if cyclic.is_empty() { Vec::new() } else { cyclic_by_sentences() };
    let breaks = |group: &Group<'_, '_>| {
        let meets = |lanes: &[u128]| group.members.iter().any(|&m| lanes.get(m).is_some_and(|l| l & group.within != 0));
        if meets(&cyclic) {
            let sure = meets(&cyclic_by_sentences);
            let severity = if sure { Severity::Hard } else { group.by_path() };
            return Some(Broken::at(tier, TangleRule::Order).resting_on(severity));
        }
        let contradicts = |&member: &usize| around.segments.contradict(&steps[member]);
        group.members.iter().any(contradicts).then(|| Broken::at(tier, TangleRule::Reconvergence))
    };
    for (group, ..) in &shows {
        match breaks(group) {
            Some(broken) => group.broken(broken, &mut bindings),
            None => masks::bind(group, &instances, &mut bindings),
        }
    }
    for (group, classes) in &rest {
        match breaks(group) {
            Some(broken) => group.broken(broken, &mut bindings),
            None => group.judge(classes, &around, &mut bindings),
        }
    }
    bindings
}

/// What other operations show of who can be together.
struct Around<'e, 's, 'a> {
    ends: Option<&'e Ends<'s, 'a>>,
    order: Order,
    segments: Segments,
    /// How many instances may still be tried to find out more.
    left: Cell<u32>,
}

/// What the lanes are seen to do together behind a step, in straight code.
struct Ends<'s, 'a> {
    steps: &'s [Step<'a>],
    instances: &'s Instances,
    /// By subgroup and lane.
    of_lane: BTreeMap<(usize, usize), Vec<usize>>,
}

impl<'s, 'a> Ends<'s, 'a> {
    fn new(steps: &'s [Step<'a>], instances: &'s Instances) -> Self {
        let mut of_lane: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (i, step) in steps.iter().enumerate() {
            lanes(step.lanes).for_each(|lane| of_lane.entry((step.subgroup, lane)).or_default().push(i));
        }
        Ends { steps, instances, of_lane }
    }

    /// The next instance shown that the class comes to without a decision: operation, instance.
    fn of(&self, class: &Class) -> Option<(usize, u64)> {
        let &(from, part) = class.parts.first()?;
        let lane = part.trailing_zeros() as usize;
        let line = self.of_lane.get(&(self.steps[from].subgroup, lane))?;
        let at = line.binary_search(&from).ok()?;
        let mut path = self.steps[from].after[lane];
        for &next in &line[at + 1..] {
            let step = &self.steps[next];
            if step.before[lane] != path {
                return None;
            }
            if let Some(instance) = self.instances[next][lane] {
                return Some((step.op.id, instance));
            }
            path = step.after[lane];
        }
        None
    }
}

impl Group<'_, '_> {
    /// Which classes may be in one instance, by straight code alone, and by the order of instances and by segments, too.
    fn allowed(&self, classes: &[Class], around: &Around<'_, '_, '_>) -> [Vec<Vec<bool>>; 3] {
        let limits: Vec<_> = classes.iter().map(|class| around.ends.and_then(|ends| ends.of(class))).collect();
        let in_straight_code = self.partners(classes, &limits);
        let except = |partners: &Vec<Vec<bool>>, apart: &dyn Fn(&Class, &Class) -> bool| {
            let of = |(i, may): (usize, &Vec<bool>)| {
                may.iter().enumerate().map(|(j, may)| *may && !apart(&classes[i], &classes[j])).collect()
            };
            partners.iter().enumerate().map(of).collect::<Vec<Vec<bool>>>()
        };
        let in_order = except(&in_straight_code, &|x, y| around.order.apart(x, y));
        let in_segments = except(&in_order, &|x, y| {
            let same = |&(step, one): &(usize, u128)| {
                let other = y.parts.iter().find(|(other, _)| *other == step);
                other.is_some_and(|&(_, other)| around.segments.apart(&self.steps[step], one, other))
            };
            x.parts.iter().any(same)
        });
        [in_straight_code, in_order, in_segments]
    }

    /// Finds out which classes are in one instance in every division, and which in none. The first ones are put together. True if
    /// there is anything new.
    fn learn(&self, classes: &mut Vec<Class>, around: &mut Around<'_, '_, '_>) -> bool {
        if !(2..=FEW).contains(&classes.len()) {
            return false;
        }
        let [_, in_order, partners] = self.allowed(classes, around);
        let in_segment = !self.step().segments.is_empty();
        if !in_segment && !partners.iter().flatten().any(|may| *may) {
            return false;
        }
        let Ok(blocks) = self.divide(classes, &partners, &around.left) else { return false };
        let blocks = blocks.unwrap_or_default();
        let are_in_one = |i: usize, j: usize| blocks.iter().any(|block| block.contains(&i) && block.contains(&j));
        let pairs = (0..classes.len()).flat_map(|i| (i + 1..classes.len()).map(move |j| (i, j)));
        for (i, j) in pairs {
            // In a segment there is one step, so that these are all lanes of the classes.
            let (step, one) = (&self.steps[classes[i].parts[0].0], classes[i].parts[0].1);
            let other = classes[j].parts[0].1;
            let must_be_apart = || {
                let mut together = classes.clone();
                self.put_together(&mut together, i, j);
                let [.., partners] = self.allowed(&together, around);
                matches!(self.divide(&together, &partners, &around.left), Err(Refuted))
            };
            let must_be_together = || {
                let mut without = partners.clone();
                (without[i][j], without[j][i]) = (false, false);
                matches!(self.divide(classes, &without, &around.left), Err(Refuted))
            };
            let known = in_segment && in_order[i][j] && around.segments.together(step, one, other);
            if known || partners[i][j] && are_in_one(i, j) && must_be_together() {
                around.segments.join(step, one | other);
                self.put_together(classes, i, j);
                return true;
            }
            if in_segment && !around.segments.apart(step, one, other) && (!in_order[i][j] || must_be_apart()) {
                around.segments.part(step, one, other);
                return true;
            }
        }
        false
    }

    fn put_together(&self, classes: &mut Vec<Class>, i: usize, j: usize) {
        let other = classes.remove(j);
        classes[i].join(other);
        let (step, part) = classes[i].parts[0];
        let lane = part.trailing_zeros();
        classes[i].joined = Some(self.instance(1 << lane, self.steps[step].visits[lane as usize] as usize));
    }

    /// Judges and adopts the results of an operation.
    fn judge(&self, classes: &[Class], around: &Around<'_, '_, '_>, bindings: &mut Bindings) {
        let [in_straight_code, in_order, partners] = self.allowed(classes, around);
        if let Some(rule) = self.refutation(classes, &partners) {
            let fits = |partners: &[Vec<bool>]| self.refutation(classes, partners).is_none();
            let rule = match () {
                () if fits(&in_order) => TangleRule::Reconvergence,
                () if fits(&in_straight_code) => TangleRule::Order,
                () => rule,
            };
            let severity = if self.no_lanes_explain() { Severity::Hard } else { self.by_path() };
            return self.broken(Broken::at(self.tier, rule).resting_on(severity), bindings);
        }
        for (i, class) in classes.iter().enumerate() {
            let alone = self.evaluate(&[class]);
            let known = !partners[i].contains(&true);
            let mut candidates = vec![class];
            for (j, other) in classes.iter().enumerate() {
                if partners[i][j] && candidates.iter().all(|class| class.lanes & other.lanes == 0) {
                    candidates.push(other);
                }
            }
            let together = self.evaluate(&candidates);
            self.bind(class, &alone, &together, known, bindings);
        }
    }

    /// True if no division of the lanes explains what was seen, whatever their paths.
    fn no_lanes_explain(&self) -> bool {
        let classes = self.classes(By::Lane);
        let partners = self.partners(&classes, &vec![None; classes.len()]);
        self.is_refuted(&classes, &partners)
    }

    /// The rule broken, if no division explains what was seen.
    fn refutation(&self, classes: &[Class], partners: &[Vec<bool>]) -> Option<TangleRule> {
        let step = self.step();
        let moves = step.op.info.moves();
        let same = self.is_the_same_for_all();
        // What no partner can change, so that no search is needed.
        let contradicts = |class: &Class| {
            (same && !self.shown(class).1) || (moves && !self.explains(&[class], &self.evaluate(&[class])))
        };
        if !classes.iter().any(contradicts) && !self.is_refuted(classes, partners) {
            return None;
        }
        let refuted = |by: By| {
            let classes = self.classes(by);
            let partners = self.partners(&classes, &vec![None; classes.len()]);
            self.is_refuted(&classes, &partners)
        };
        let own = if step.op.info.op == SubgroupOp::Elect { TangleRule::Elect } else { TangleRule::Operation };
        Some(if !refuted(By::Path) {
            // Only what ballots beside the operation show speaks against it.
            own
        } else if refuted(By::Lane) {
            own
        } else {
            TangleRule::PathClass
        })
    }

    /// Adopts the results of a class, or computes them if its instance is known.
    fn bind(
        &self,
        class: &Class,
        alone: &Option<Evaluated>,
        together: &Option<Evaluated>,
        known: bool,
        bindings: &mut Bindings,
    ) {
        let Some(alone) = alone else { return self.adopt_class(class, bindings) };
        let step = self.step();
        let poisoned = self.is_poisoned();
        let moves = step.op.info.moves();
        let small = step.result_scalar() == Scalar::Bool;
        for &(member, part) in &class.parts {
            let step = &self.steps[member];
            for lane in lanes(part) {
                let is_open = alone.open() >> lane & 1 == 1;
                let seen = |c: usize| step.seen_at(c, lane);
                let decided = |c: usize| {
                    together.as_ref().is_some_and(|all| {
                        all.open() >> lane & 1 == 0 && all.columns[c][lane] == alone.columns[c][lane]
                    })
                };
                let checked = !is_open && (known || moves || !small || (0..step.width).all(decided));
                let bits = (0..step.width)
                    .map(|c| if known && !is_open { Some(alone.columns[c][lane]) } else { seen(c) })
                    .collect();
                let status = if checked { Status::Checked } else { Status::Open };
                let defined = alone.defined(step, lane) && (known || !poisoned);
                let shown = (0..step.width).all(|c| seen(c).is_some());
                let severity = if shown { Severity::Hard } else { self.by_path() };
                bindings.insert(step.visit(lane), Bound { bits, status, defined, instance: class.joined, severity });
            }
        }
    }

    /// True if all lanes of an instance see the same. What is undefined may be another value in each of them (rule D2).
    fn is_the_same_for_all(&self) -> bool {
        self.step().op.info.uniform == Uniform::Always && !self.is_poisoned()
    }

    /// True if an operand is undefined in some lane, and with it the result of any lane that it may be together with.
    fn is_poisoned(&self) -> bool {
        let info = self.step().op.info;
        let local = info.spread == Spread::Own || info.moves();
        let poisoned = |member: &usize| {
            let step = &self.steps[*member];
            let taints = step.args.iter().filter_map(|arg| arg.taint.as_ref());
            taints
                .filter(|taint| taint.undefined)
                .any(|taint| taint.lanes.lanes(step.first, step.size) & step.lanes & self.within != 0)
        };
        !local && self.members.iter().any(poisoned)
    }

    /// Adopts whatever was seen, where nothing can be said about it.
    fn adopt(&self, bindings: &mut Bindings) {
        for class in self.classes(By::Path) {
            self.adopt_class(&class, bindings);
        }
    }

    fn adopt_class(&self, class: &Class, bindings: &mut Bindings) {
        let alone = self.evaluate(&[class]);
        let poisoned = self.is_poisoned();
        for &(member, part) in &class.parts {
            let step = &self.steps[member];
            for lane in lanes(part) {
                let bits = (0..step.width).map(|c| step.seen_at(c, lane)).collect();
                let defined = !poisoned && alone.as_ref().is_some_and(|alone| alone.defined(step, lane));
                let (status, severity) = (Status::Open, Severity::Hard);
                bindings.insert(step.visit(lane), Bound { bits, status, defined, instance: None, severity });
            }
        }
    }

    /// Puts a legal division in the place of what was seen: all lanes that come by at one time together, or only
    /// those on one path, whichever is nearer.
    pub(crate) fn broken(&self, broken: Broken, bindings: &mut Bindings) {
        let broken = broken.resting_on(self.operands_rest_on());
        let classes = self.classes(By::Seen);
        let apart: Vec<Vec<Class>> = classes.into_iter().map(|class| vec![class]).collect();
        let whole = |&member: &usize| {
            let lanes = self.steps[member].lanes & self.within;
            vec![Class { parts: smallvec::smallvec![(member, lanes)], lanes, joined: None }]
        };
        let together: Vec<Vec<Class>> = self.members.iter().map(whole).collect();
        let candidates = [together, apart].map(|blocks| {
            blocks
                .into_iter()
                .filter_map(|block| {
                    let found = self.evaluate(&block.iter().collect::<Vec<_>>())?;
                    Some((block, found))
                })
                .collect::<Vec<_>>()
        });
        let wrong = |blocks: &Vec<(Vec<Class>, Evaluated)>| -> usize {
            blocks.iter().map(|(block, found)| self.wrong_lanes(block, found)).sum()
        };
        let nearest = candidates.into_iter().filter(|blocks| wrong(blocks) > 0).min_by_key(wrong);
        let Some(blocks) = nearest else { return self.adopt(bindings) };
        for (block, found) in blocks {
            for &(member, part) in block.iter().flat_map(|class| &class.parts) {
                let step = &self.steps[member];
                for lane in lanes(part) {
                    let known = found.open() >> lane & 1 == 0;
                    let bits = (0..step.width).map(|c| known.then(|| found.columns[c][lane])).collect();
                    let (status, severity) = (Status::Broken(broken), broken.severity);
                    bindings.insert(step.visit(lane), Bound { bits, status, defined: known, instance: None, severity });
                }
            }
        }
    }

    fn wrong_lanes(&self, block: &[Class], found: &Evaluated) -> usize {
        let parts = block.iter().flat_map(|class| &class.parts);
        parts
            .map(|&(member, part)| {
                let step = &self.steps[member];
                let differs = |lane: &usize| {
                    (0..step.width).any(|c| step.seen_at(c, *lane).is_some_and(|seen| seen != found.columns[c][*lane]))
                };
                lanes(part & !found.open()).filter(differs).count()
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use tangle_program::subgroup::Fold;

    use super::*;
    use crate::lower::OpNode;
    use crate::value::Value;

    fn node(op: SubgroupOp, id: usize, scalar: Scalar) -> OpNode {
        OpNode { info: op.info(), id, scalar, width: 1, cluster: 0, preserved: false, args: Vec::new() }
    }

    /// An execution by lanes of which each has a path of its own: operand of each, and what is seen of its result.
    fn step<'a>(op: &'a OpNode, lanes: &[(u64, Option<u64>)], segments: &[u32]) -> Step<'a> {
        let mut step = Step::of_lanes(op, (1 << lanes.len()) - 1, segments);
        let mut operand = vec![0; step.size];
        for (lane, &(value, seen)) in lanes.iter().enumerate() {
            (operand[lane], step.seen[lane]) = (value, seen);
            (step.before[lane], step.paths[lane]) = (lane as u64, lane as u64);
        }
        step.args.push(Value::scalar(operand));
        step
    }

    fn group<'s, 'a>(steps: &'s [Step<'a>], tier: Tier) -> Group<'s, 'a> {
        Group { steps, members: (0..steps.len()).collect(), within: !0, time: 0, tier }
    }

    fn around<'e, 's, 'a>(steps: &[Step<'a>], segments: Segments) -> Around<'e, 's, 'a> {
        let instances: Instances = steps.iter().map(|step| vec![None; step.size]).collect();
        Around { ends: None, order: Order::new(steps, &[], &instances, &[]), segments, left: Cell::new(LEARNING) }
    }

    /// Rule S3: what two lanes show in a segment says that they are together, or apart, or nothing.
    #[test]
    fn what_is_learnt_of_two_lanes_in_a_segment() {
        let sum = node(SubgroupOp::Inclusive(Fold::Add), 0, Scalar::Uint);
        for (seen, together, apart) in [
            ([None, None], false, false),
            ([Some(1), None], false, false),
            ([Some(1), Some(3)], true, false),
            ([Some(1), Some(2)], false, true),
        ] {
            let steps = [step(&sum, &[(1, seen[0]), (2, seen[1])], &[0])];
            let group = group(&steps, Tier::Maximal);
            let (mut classes, mut around) = (group.classes(By::Seen), around(&steps, Segments::default()));
            assert_eq!(group.learn(&mut classes, &mut around), together || apart, "{seen:?}");
            assert_eq!(classes.len(), if together { 1 } else { 2 }, "{seen:?}");
            assert_eq!(around.segments.together(&steps[0], 0b01, 0b10), together, "{seen:?}");
            assert_eq!(around.segments.apart(&steps[0], 0b01, 0b10), apart, "{seen:?}");
            assert!(!group.learn(&mut classes, &mut around), "{seen:?}: there is no more");
        }
    }

    /// Lanes that are apart in a segment are not in one instance there.
    #[test]
    fn lanes_apart_in_a_segment_are_no_partners() {
        let sum = node(SubgroupOp::Inclusive(Fold::Add), 0, Scalar::Uint);
        let steps = [step(&sum, &[(1, None); 3], &[0])];
        let mut segments = Segments::default();
        segments.part(&steps[0], 0b001, 0b010);
        let group = group(&steps, Tier::Maximal);
        let [_, in_order, in_segments] = group.allowed(&group.classes(By::Seen), &around(&steps, segments));
        let expected = [[false, true, true], [true, false, true], [true, true, false]];
        assert_eq!(in_order, expected);
        let expected = [[false, false, true], [false, false, true], [true, true, false]];
        assert_eq!(in_segments, expected);
    }

    /// The instance that a class comes to next is found behind its own step, if no decision is between.
    #[test]
    fn where_straight_code_leads() {
        let (sum, ballot) = (node(SubgroupOp::Elect, 0, Scalar::Bool), node(SubgroupOp::Ballot, 1, Scalar::Bool));
        let mut steps = [step(&sum, &[(0, None)], &[]), step(&ballot, &[(1, Some(1))], &[])];
        let instances = vec![vec![None; steps[0].size], vec![Some(9); steps[1].size]];
        for (after, before, end) in [(7, 7, Some((1, 9))), (7, 8, None)] {
            (steps[0].after[0], steps[1].before[0]) = (after, before);
            let classes = group(&steps[..1], Tier::Plain).classes(By::Seen);
            assert_eq!(Ends::new(&steps, &instances).of(&classes[0]), end);
        }
    }

    /// A vote that is the same with all that a lane may be with is decided: lane 1, which saw another result, is none of those.
    #[test]
    fn a_vote_is_decided_by_those_who_may_be_together() {
        let any = node(SubgroupOp::Any, 0, Scalar::Bool);
        let steps = [step(&any, &[(0, Some(0)), (1, Some(1)), (0, Some(0))], &[])];
        let group = group(&steps, Tier::Plain);
        let mut bindings = Bindings::new();
        group.judge(&group.classes(By::Seen), &around(&steps, Segments::default()), &mut bindings);
        let statuses: Vec<Status> = (0..3).map(|lane| bindings[&steps[0].visit(lane)].status).collect();
        assert_eq!(statuses, [Status::Checked; 3]);
    }
}
