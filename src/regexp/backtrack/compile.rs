//! From a tree to instructions.
//!
//! Two things make the program fast without changing what it matches. At every fork the bytes that each way can start
//! with are known, so that a look at the next byte mostly leaves one way. And a run whose characters cannot stand
//! where the run ends needs to give nothing back: the rest of the pattern could not start there.

use super::automaton::Automaton;
use super::class::CharClass;
use super::node::{Node, Repeat};
use super::program::{Address, Choice, Instruction, Part, Register, Run, RunKind, Scan, Way};
use super::set::ByteSet;

/// Instructions that a program may have; counted repeats are written out.
const MOST_INSTRUCTIONS: usize = 1 << 16;

/// Alternatives in one place; the other engine is better at long lists of words.
const MOST_ALTERNATIVES: usize = 4096;
/// Repeats of one byte that are written out in a row of bytes.
const LONGEST_SEQUENCE: u32 = 8;

/// The program of a tree and its number of registers; `None` when it would be too large, or when a look behind has no
/// fixed width.
pub(super) fn compile(node: &Node) -> Option<(Vec<Instruction>, usize)> {
    let mut compiler = Compiler { code: Vec::new(), registers: 0, restored: restored_groups(node), in_loop: false };
    compiler.node(node, &Rest { follow: ByteSet::ALL, is_cut: false })?;
    compiler.push(Instruction::Match)?;
    compiler.shorten_jumps();
    Some((compiler.code, usize::from(compiler.registers)))
}

/// What comes behind a node.
#[derive(Clone, Copy)]
struct Rest {
    /// What it can start with.
    follow: ByteSet,
    /// Whether other ways through the node are forgotten right behind it.
    is_cut: bool,
}

impl Rest {
    fn before(follow: ByteSet) -> Self {
        Self { follow, is_cut: false }
    }
}

struct Compiler {
    code: Vec<Instruction>,
    registers: Register,
    /// Groups whose old place has to come back when the matcher goes back. For all others every way through an
    /// alternation says where the group is or that it takes no part, so that what an abandoned way left is overwritten.
    restored: Restored,
    /// Whether the present node may be passed several times, or is looked at only.
    in_loop: bool,
}

/// See [`Compiler`].
enum Restored {
    All,
    These(Vec<usize>),
}

/// A pattern that repeats what a group took asks for places before the match is complete; a group that stands twice
/// (parts of repeats are written out) keeps what it took first.
fn restored_groups(node: &Node) -> Restored {
    let mut groups = Vec::new();
    if !node.groups(&mut groups) {
        return Restored::All;
    }
    groups.sort_unstable();
    let twice = groups.iter().zip(groups.iter().skip(1)).filter(|(one, next)| one == next);
    Restored::These(twice.map(|(group, _)| *group).collect())
}

impl Compiler {
    fn push(&mut self, instruction: Instruction) -> Option<Address> {
        if self.code.len() >= MOST_INSTRUCTIONS {
            return None;
        }
        self.code.push(instruction);
        Address::try_from(self.code.len() - 1).ok()
    }

    /// The place of the next instruction.
    fn here(&self) -> Option<Address> {
        Address::try_from(self.code.len()).ok()
    }

    fn register(&mut self) -> Option<Register> {
        let register = self.registers;
        self.registers = register.checked_add(1)?;
        Some(register)
    }

    fn node(&mut self, node: &Node, rest: &Rest) -> Option<()> {
        if let Some((automaton, _)) = automaton(std::slice::from_ref(node), &[*rest]) {
            self.push(Instruction::Part(Box::new(Part { automaton, group: None })))?;
            return Some(());
        }
        match node {
            Node::Empty => {}
            Node::Literal(bytes) => {
                let literal = match bytes.as_slice() {
                    [byte] => Instruction::Byte(*byte),
                    bytes => Instruction::Literal(bytes.into()),
                };
                self.push(literal)?;
            }
            Node::Class(class) => {
                self.push(one_of(class))?;
            }
            Node::Concat(nodes) => self.concat(nodes, rest)?,
            Node::Alternation(nodes) => self.alternation(nodes, rest)?,
            Node::Repeat(repeat) => self.repeat(repeat, rest)?,
            Node::Group(group, inside) => {
                let slot = u32::try_from(*group).ok()?.checked_mul(2)?;
                let is_restored = self.is_restored(*group);
                let save = |slot| if is_restored { Instruction::SaveInLoop(slot) } else { Instruction::Save(slot) };
                let begin = self.push(save(slot))?;
                self.node(inside, rest)?;
                if is_restored || !self.capture_by_one(begin, slot) {
                    self.push(save(slot + 1))?;
                }
            }
            Node::Atomic(inside) => {
                if let Some(automaton) = Automaton::of_longest(inside) {
                    self.push(Instruction::Part(Box::new(Part { automaton, group: None })))?;
                    return Some(());
                }
                let register = self.register()?;
                self.push(Instruction::Begin(register))?;
                // The first way through it counts, whether the rest of the pattern can follow there or not.
                self.node(inside, &Rest { follow: ByteSet::ALL, is_cut: true })?;
                self.push(Instruction::Cut(register))?;
            }
            Node::Look { ahead, negative, inside } => self.look(*ahead, *negative, inside)?,
            Node::Assertion(assertion) => {
                self.push(Instruction::Assert(*assertion))?;
            }
            Node::BackReference(group) => {
                self.push(Instruction::BackReference(u32::try_from(*group).ok()?.checked_mul(2)?))?;
            }
            Node::Keep => {
                self.push(Instruction::SaveInLoop(0))?;
            }
        }
        Some(())
    }

    /// Lets the one instruction of a group's inside note where the group is, if it is one that can; whether it does.
    fn capture_by_one(&mut self, begin: Address, slot: u32) -> bool {
        let begin = begin as usize;
        if self.code.len() != begin + 2 {
            return false;
        }
        match self.code.last_mut() {
            Some(Instruction::Run(run)) if run.group.is_none() => run.group = Some(slot),
            Some(Instruction::Part(part)) if part.group.is_none() => part.group = Some(slot),
            _ => return false,
        }
        self.code.remove(begin);
        true
    }

    fn is_restored(&self, group: usize) -> bool {
        self.in_loop
            || match &self.restored {
                Restored::All => true,
                Restored::These(groups) => groups.contains(&group),
            }
    }

    /// The groups in some nodes that are not restored.
    fn overwritten(&self, nodes: &[Node]) -> Vec<usize> {
        let mut groups = Vec::new();
        nodes.iter().for_each(|node| {
            node.groups(&mut groups);
        });
        groups.retain(|group| !self.is_restored(*group));
        groups
    }

    /// Says of groups that they take no part.
    fn forget(&mut self, groups: &[usize]) -> Option<()> {
        let slots = groups.iter().flat_map(|group| [group * 2, group * 2 + 1]);
        let slots: Box<[u32]> = slots.map(|slot| u32::try_from(slot).ok()).collect::<Option<_>>()?;
        if !slots.is_empty() {
            self.push(Instruction::Forget(slots))?;
        }
        Some(())
    }

    /// A part that may be passed several times.
    fn in_loop<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.in_loop, true);
        let done = part(self);
        self.in_loop = before;
        done
    }

    fn concat(&mut self, nodes: &[Node], rest: &Rest) -> Option<()> {
        let mut behind = Vec::with_capacity(nodes.len());
        let mut rest = *rest;
        for node in nodes.iter().rev() {
            behind.push(rest);
            rest = Rest::before(node.first(&rest.follow));
        }
        behind.reverse();
        let mut at = 0;
        while let (Some(node), Some(rest)) = (nodes.get(at), behind.get(at)) {
            let left = nodes.get(at..).unwrap_or_default();
            let (sets, count) = sequence(left);
            if let Some((automaton, count)) = automaton(left, behind.get(at..).unwrap_or_default()) {
                self.push(Instruction::Part(Box::new(Part { automaton, group: None })))?;
                at += count;
            } else if count > 1 {
                self.push(Instruction::Sequence(sets.into()))?;
                at += count;
            } else {
                self.node(node, rest)?;
                at += 1;
            }
        }
        Some(())
    }

    fn alternation(&mut self, nodes: &[Node], rest: &Rest) -> Option<()> {
        if nodes.len() > MOST_ALTERNATIVES {
            return None;
        }
        if nodes.len() > Choice::MOST {
            let (first, others) = nodes.split_at_checked(Choice::MOST - 1)?;
            let mut nodes = first.to_vec();
            nodes.push(Node::Alternation(others.to_vec()));
            return self.alternation(&nodes, rest);
        }
        let groups = self.overwritten(nodes);
        let fork = self.push(Instruction::Jump(0))?;
        let mut ways = Vec::with_capacity(nodes.len());
        let mut exits = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            ways.push(Way { first: node.first(&rest.follow), to: self.here()? });
            let own = self.overwritten(std::slice::from_ref(node));
            let missing: Vec<usize> = groups.iter().copied().filter(|group| !own.contains(group)).collect();
            self.forget(&missing)?;
            self.node(node, rest)?;
            if at + 1 < nodes.len() {
                exits.push(self.push(Instruction::Jump(0))?);
            }
        }
        self.finish_choice(fork, &ways, exits)
    }

    /// Completes a choice whose ways are written, and lets them end here.
    fn finish_choice(&mut self, fork: Address, ways: &[Way], exits: Vec<Address>) -> Option<()> {
        let end = self.here()?;
        exits.into_iter().for_each(|exit| self.patch(exit, Instruction::Jump(end)));
        self.patch(fork, Instruction::Choice(Box::new(Choice::new(ways))));
        Some(())
    }

    /// Lets everything that leads to a jump lead to where that goes.
    fn shorten_jumps(&mut self) {
        let jumps: Vec<Option<Address>> = self
            .code
            .iter()
            .map(|instruction| match instruction {
                Instruction::Jump(to) => Some(*to),
                _ => None,
            })
            .collect();
        let end_of = |mut to: Address| {
            // Jumps only lead forward or to a fork, so that there is an end.
            while let Some(Some(next)) = jumps.get(to as usize) {
                to = *next;
            }
            to
        };
        for instruction in &mut self.code {
            match instruction {
                Instruction::Jump(to) | Instruction::BeginNot(_, to) | Instruction::LeaveIfEmpty(_, to) => {
                    *to = end_of(*to)
                }
                Instruction::Split(ways) => ways.iter_mut().for_each(|way| way.to = end_of(way.to)),
                Instruction::Choice(choice) => choice.addresses().iter_mut().for_each(|to| *to = end_of(*to)),
                _ => {}
            }
        }
    }

    fn patch(&mut self, at: Address, instruction: Instruction) {
        if let Some(slot) = self.code.get_mut(at as usize) {
            *slot = instruction;
        }
    }

    fn repeat(&mut self, repeat: &Repeat, rest: &Rest) -> Option<()> {
        if let Some(run) = run(repeat, rest) {
            self.push(Instruction::Run(Box::new(run)))?;
            return Some(());
        }
        if repeat.least == 0 && repeat.most == Some(1) {
            return self.maybe(&repeat.inside, repeat.lazy, rest);
        }
        self.in_loop(|compiler| compiler.rounds(repeat, rest))
    }

    /// `(?:x)?`
    fn maybe(&mut self, inside: &Node, lazy: bool, rest: &Rest) -> Option<()> {
        let first = inside.first(&rest.follow);
        let groups = self.overwritten(std::slice::from_ref(inside));
        let fork = self.push(Instruction::Jump(0))?;
        self.node(inside, rest)?;
        let exit = if groups.is_empty() { None } else { Some(self.push(Instruction::Jump(0))?) };
        let without = self.here()?;
        self.forget(&groups)?;
        let end = self.here()?;
        if let Some(exit) = exit {
            self.patch(exit, Instruction::Jump(end));
        }
        self.patch(fork, split(Way { first, to: fork + 1 }, Way { first: rest.follow, to: without }, lazy));
        Some(())
    }

    /// A repeat that can take more than one round.
    fn rounds(&mut self, repeat: &Repeat, rest: &Rest) -> Option<()> {
        let Repeat { inside, least, most, lazy } = repeat;
        let around = inside.first(&rest.follow).union(&rest.follow);
        let again = Rest::before(around);
        match most {
            None => {
                let start = self.code.len();
                for _ in 1..*least {
                    self.node(inside, &again)?;
                    if self.code.len() == start {
                        return Some(());
                    }
                }
                if *least == 0 { self.star(inside, *lazy, rest) } else { self.plus(inside, *lazy, rest) }
            }
            Some(most) => {
                let start = self.code.len();
                for at in 0..*least {
                    let behind = if at + 1 == *most { rest } else { &again };
                    self.node(inside, behind)?;
                    if self.code.len() == start {
                        return Some(());
                    }
                }
                self.optional(inside, most.saturating_sub(*least), *lazy, rest)
            }
        }
    }

    /// `(?:x(?:x)?)?`: at most so many.
    fn optional(&mut self, inside: &Node, most: u32, lazy: bool, rest: &Rest) -> Option<()> {
        let first = inside.first(&rest.follow);
        let again = Rest::before(first.union(&rest.follow));
        let mut forks = Vec::new();
        for at in 0..most {
            forks.push(self.push(Instruction::Jump(0))?);
            self.node(inside, if at + 1 == most { rest } else { &again })?;
        }
        let end = self.here()?;
        for fork in forks {
            self.patch(fork, split(Way { first, to: fork + 1 }, Way { first: rest.follow, to: end }, lazy));
        }
        Some(())
    }

    /// `x*`
    fn star(&mut self, inside: &Node, lazy: bool, rest: &Rest) -> Option<()> {
        let first = inside.first(&rest.follow);
        let again = Rest::before(first.union(&rest.follow));
        let fork = self.push(Instruction::Jump(0))?;
        let leave = self.round(inside, &again)?;
        self.push(Instruction::Jump(fork))?;
        let end = self.here()?;
        self.patch(fork, split(Way { first, to: fork + 1 }, Way { first: rest.follow, to: end }, lazy));
        self.patch_leave(leave, end);
        Some(())
    }

    /// `x+`
    fn plus(&mut self, inside: &Node, lazy: bool, rest: &Rest) -> Option<()> {
        let first = inside.first(&rest.follow);
        let again = Rest::before(first.union(&rest.follow));
        let start = self.here()?;
        let leave = self.round(inside, &again)?;
        let fork = self.push(Instruction::Jump(0))?;
        let end = self.here()?;
        self.patch(fork, split(Way { first, to: start }, Way { first: rest.follow, to: end }, lazy));
        self.patch_leave(leave, end);
        Some(())
    }

    /// One round of a loop; where it is left when it took nothing.
    fn round(&mut self, inside: &Node, rest: &Rest) -> Option<Option<(Address, Register)>> {
        if !inside.can_be_empty() {
            self.node(inside, rest)?;
            return Some(None);
        }
        let register = self.register()?;
        self.push(Instruction::Round(register))?;
        self.node(inside, rest)?;
        let leave = self.push(Instruction::Jump(0))?;
        Some(Some((leave, register)))
    }

    fn patch_leave(&mut self, leave: Option<(Address, Register)>, end: Address) {
        if let Some((at, register)) = leave {
            self.patch(at, Instruction::LeaveIfEmpty(register, end));
        }
    }

    fn look(&mut self, ahead: bool, negative: bool, inside: &Node) -> Option<()> {
        if let Some(class) = inside.as_class().map(Box::new) {
            self.push(if ahead { Instruction::Ahead(class, negative) } else { Instruction::Behind(class, negative) })?;
            return Some(());
        }
        let register = self.register()?;
        let begin = self.push(Instruction::Begin(register))?;
        let rest = Rest { follow: ByteSet::ALL, is_cut: true };
        self.in_loop(|compiler| if ahead { compiler.node(inside, &rest) } else { compiler.behind(inside, &rest) })?;
        if negative {
            self.push(Instruction::FailNot(register))?;
            let end = self.here()?;
            self.patch(begin, Instruction::BeginNot(register, end));
        } else {
            self.push(Instruction::CutAndReturn(register))?;
        }
        Some(())
    }

    /// Each alternative goes back as far as it is wide.
    fn behind(&mut self, inside: &Node, rest: &Rest) -> Option<()> {
        let nodes = match inside {
            Node::Alternation(nodes) if nodes.len() > Choice::MOST => return None,
            Node::Alternation(nodes) => nodes.as_slice(),
            node => std::slice::from_ref(node),
        };
        let fork = self.push(Instruction::Jump(0))?;
        let (mut ways, mut exits) = (Vec::new(), Vec::new());
        for node in nodes {
            ways.push(Way { first: ByteSet::ALL, to: self.here()? });
            self.push(Instruction::Back(u32::try_from(node.width()?).ok()?))?;
            self.node(node, rest)?;
            exits.push(self.push(Instruction::Jump(0))?);
        }
        self.finish_choice(fork, &ways, exits)
    }
}

/// The first nodes as an automaton, as many as can be one, and how many that are. `behind` has what follows each.
fn automaton(nodes: &[Node], behind: &[Rest]) -> Option<(Automaton, usize)> {
    let most = nodes.iter().take_while(|node| Automaton::can_have(node)).count();
    (1..=most).rev().find_map(|count| {
        let (nodes, rest) = (nodes.get(..count)?, behind.get(count - 1)?);
        let forks: usize = nodes.iter().map(Node::forks).sum();
        let part = (forks > 1).then(|| Automaton::with_one_end(nodes, &rest.follow))??;
        Some((part, count))
    })
}

/// The sets of the single bytes that the first nodes are, and how many nodes that are. Plain text is left alone.
fn sequence(nodes: &[Node]) -> (Vec<ByteSet>, usize) {
    let mut sets = Vec::new();
    let mut count = 0;
    let mut has_class = false;
    for node in nodes {
        let (class, times) = match node {
            Node::Literal(bytes) => {
                sets.extend(bytes.iter().map(|byte| ByteSet::of(*byte)));
                count += 1;
                continue;
            }
            Node::Class(class) => (Some(class.clone()), 1),
            Node::Repeat(repeat) if repeat.most == Some(repeat.least) && repeat.least <= LONGEST_SEQUENCE => {
                (repeat.inside.as_class(), repeat.least)
            }
            _ => break,
        };
        let Some(set) = class.filter(CharClass::is_ascii).and_then(|class| class.by_bytes()) else { break };
        sets.extend((0..times).map(|_| set));
        count += 1;
        has_class = true;
    }
    if has_class { (sets, count) } else { (sets, count.min(1)) }
}

fn one_of(class: &CharClass) -> Instruction {
    match class.by_bytes() {
        Some(set) if class.is_ascii() => match set.single() {
            Some(byte) => Instruction::Byte(byte),
            None => Instruction::OneOf(Box::new(set)),
        },
        _ => Instruction::Class(Box::new(class.clone())),
    }
}

fn split(inside: Way, behind: Way, lazy: bool) -> Instruction {
    Instruction::Split(Box::new(if lazy { [behind, inside] } else { [inside, behind] }))
}

/// The run that a repeat of single characters is. Characters of several bytes are not counted one by one, so that
/// limits need ASCII.
fn run(repeat: &Repeat, rest: &Rest) -> Option<Run> {
    let class = repeat.inside.as_class()?;
    let scan = Scan::of(&class);
    let is_open = repeat.least <= 1 && repeat.most.is_none();
    if !(is_open || scan.is_ascii()) {
        return None;
    }
    // Where a run can stop inside, a character of its class follows.
    let ends_anywhere = class.first_bytes().shares_a_byte(&rest.follow);
    let kind = match (ends_anywhere, repeat.lazy) {
        (false, _) => RunKind::Possessive,
        (true, true) => RunKind::Lazy,
        (true, false) if rest.is_cut => RunKind::Possessive,
        (true, false) => RunKind::Greedy,
    };
    let next_byte = rest.follow.single();
    Some(Run { group: None, scan, least: repeat.least, most: repeat.most, kind, next: rest.follow, next_byte })
}
