//! Estimates the compile time of a component, and rejects components that would take minutes.
//!
//! Compile time depends on functions more than on bytes: five megabytes can hold seven hundred thousand small
//! functions, which take minutes. It also depends on variables that are live across branches: a quarter of a megabyte
//! of small loops over a hundred variables takes as long.

use wasmparser::{
    BinaryReaderError, BlockType, CompositeInnerType, FunctionBody, Operator, Payload, TypeSectionReader,
};

use crate::component_info::NotAGate;

/// Maximum functions of a component, over all modules. An interpreter has about ten thousand.
const MAX_FUNCTIONS: u64 = 100_000;

/// Weight of a loop: the compiler adds an interruption point that saves all live values. Doubles inside
/// [`DEEP_LOOP_NESTING`] loops, triples inside twice as many, and so on.
const LOOP_WEIGHT: u64 = 1_000;

/// Nesting levels that add [`LOOP_WEIGHT`] once more. Handwritten code rarely has ten.
const DEEP_LOOP_NESTING: u64 = 16;

/// Maximum weight of a function: branches times variables, plus loops, plus bytes. The heaviest functions of Python's
/// and a JavaScript interpreter have a fifth of it.
const MAX_FUNCTION_WEIGHT: u64 = 2_000_000;

/// Maximum weight of all functions. Python's interpreter has about 22 million.
const MAX_TOTAL_WEIGHT: u64 = 100_000_000;

#[derive(Default)]
pub(crate) struct CompileCost {
    /// Open components and modules, innermost last.
    open: Vec<ModuleCode>,
    functions: u64,
    all: u64,
}

#[derive(Default)]
struct ModuleCode {
    /// Parameters and results of each type.
    types: Vec<(u64, u64)>,
    functions: Vec<u32>,
    /// Functions that have been weighed.
    weighed: usize,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileCostError {
    #[error("has {0} functions; the limit is {MAX_FUNCTIONS}")]
    Functions(u64),
    #[error(
        "has a function of weight {0} (branches times variables); the limit is {MAX_FUNCTION_WEIGHT}: {SLOW}"
    )]
    Function(u64),
    #[error(
        "has functions of total weight {0} (branches times variables); the limit is {MAX_TOTAL_WEIGHT}: {SLOW}"
    )]
    AllFunctions(u64),
}

const SLOW: &str = "compiling would take minutes; split large functions, or optimize for size";

impl CompileCost {
    pub(crate) fn is_outermost(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn add(&mut self, payload: &Payload<'_>) -> Result<(), NotAGate> {
        if matches!(payload, Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) {
            self.open.push(ModuleCode::default());
            return Ok(());
        }
        let Some(module) = self.open.last_mut() else { return Ok(()) };
        match payload {
            Payload::End(_) => drop(self.open.pop()),
            Payload::TypeSection(section) => module.types = types(section.clone())?,
            Payload::FunctionSection(section) => {
                self.functions = self.functions.saturating_add(section.count().into());
                if self.functions > MAX_FUNCTIONS {
                    return Err(CompileCostError::Functions(self.functions).into());
                }
                module.functions = section.clone().into_iter().collect::<Result<_, _>>()?;
            }
            Payload::CodeSectionEntry(body) => {
                let weight = module.weigh(body)?;
                self.all = self.all.saturating_add(weight);
                if weight > MAX_FUNCTION_WEIGHT {
                    return Err(CompileCostError::Function(weight).into());
                }
                if self.all > MAX_TOTAL_WEIGHT {
                    return Err(CompileCostError::AllFunctions(self.all).into());
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns parameters and results of each type; zero if it is not a function.
fn types(section: TypeSectionReader<'_>) -> Result<Vec<(u64, u64)>, BinaryReaderError> {
    let mut types = Vec::new();
    for group in section {
        types.extend(group?.into_types().map(|sub_type| match sub_type.composite_type.inner {
            CompositeInnerType::Func(function) => {
                (function.params().len() as u64, function.results().len() as u64)
            }
            _ => (0, 0),
        }));
    }
    Ok(types)
}

impl ModuleCode {
    fn arity(&self, index: u32) -> (u64, u64) {
        self.types.get(index as usize).copied().unwrap_or_default()
    }

    /// Returns the weight of the next function. Branches times variables bounds the values that the compiler creates.
    fn weigh(&mut self, body: &FunctionBody<'_>) -> Result<u64, BinaryReaderError> {
        let of_it = self.functions.get(self.weighed).map_or((0, 0), |index| self.arity(*index));
        self.weighed += 1;
        let mut variables = of_it.0;
        for group in body.get_locals_reader()? {
            variables = variables.saturating_add(group?.0.into());
        }
        let (mut branches, mut loops, mut widest) = (0_u64, 0_u64, of_it.1);
        // For each open construct, true if it is a loop; and the number of open loops.
        let (mut open, mut around) = (Vec::new(), 0_u64);
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let operator = operators.read()?;
            match operator {
                Operator::Loop { .. } => {
                    loops = loops.saturating_add(LOOP_WEIGHT * (1 + around / DEEP_LOOP_NESTING));
                    around += 1;
                    open.push(true);
                }
                Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } => open.push(false),
                Operator::End => around -= u64::from(open.pop().unwrap_or(false)),
                _ => {}
            }
            match operator {
                Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                    branches += 1;
                    if let BlockType::FuncType(index) = blockty {
                        let (parameters, results) = self.arity(index);
                        widest = widest.max(parameters).max(results);
                    }
                }
                Operator::BrTable { targets } => branches += 1 + u64::from(targets.len()),
                Operator::Br { .. } | Operator::BrIf { .. } | Operator::Else => branches += 1,
                _ => {}
            }
        }
        let carried = branches.saturating_mul(variables.saturating_add(widest));
        let bytes = body.range().len() as u64;
        Ok(carried.saturating_add(loops).saturating_add(bytes))
    }
}

#[cfg(test)]
mod tests {
    use wasmparser::Parser;

    use super::*;

    fn with(header: [u8; 8], sections: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = header.to_vec();
        for (id, content) in sections {
            bytes.extend([*id, content.len() as u8]);
            bytes.extend_from_slice(content);
        }
        bytes
    }

    const MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";
    const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";

    fn read(component: &[u8]) -> Result<CompileCost, NotAGate> {
        let mut cost = CompileCost::default();
        for payload in Parser::new(0).parse_all(component) {
            cost.add(&payload?)?;
        }
        Ok(cost)
    }

    /// Returns the number of functions and their weight.
    fn cost(component: &[u8]) -> (u64, u64) {
        let cost = read(component).unwrap_or_else(|error| panic!("{error}"));
        (cost.functions, cost.all)
    }

    #[test]
    fn functions_are_counted_wherever_they_are() {
        let two = with(MODULE, &[(1, &[0]), (3, &[2, 0, 0]), (10, &[2, 2, 0, 0x0b, 2, 0, 0x0b])]);
        let inner = with(COMPONENT, &[(1, &two)]);
        let outer = with(COMPONENT, &[(1, &two), (4, &inner), (1, &two)]);
        assert_eq!(cost(&outer), (6, 12));
    }

    #[test]
    fn a_function_weighs_its_branches_times_its_variables() {
        // A type of two parameters and one result, and a function of it with 300 variables and `loop` `block` `br_table
        // 0 0 0` `end` `end` `i32.const 0`.
        let types = [1, 0x60, 2, 0x7f, 0x7f, 1, 0x7f];
        let body = [
            1, 0xac, 0x02, 0x7f, 0x03, 0x40, 0x02, 0x40, 0x41, 0, 0x0e, 2, 0, 0, 0, 0x0b, 0x0b, 0x41, 0, 0x0b,
        ];
        let code = [&[1, body.len() as u8][..], &body].concat();
        let module = with(MODULE, &[(1, &types), (3, &[1, 0]), (10, &code)]);
        let one = (1 + 1 + 3) * (2 + 300 + 1) + LOOP_WEIGHT + body.len() as u64;
        assert_eq!(cost(&with(COMPONENT, &[(1, &module), (1, &module)])), (2, 2 * one));
    }

    #[test]
    fn what_is_too_much_says_of_what() {
        let said = [
            CompileCostError::Functions(1),
            CompileCostError::Function(2),
            CompileCostError::AllFunctions(3),
        ];
        let said = said.map(|reason| reason.to_string());
        assert_eq!(said[0], "has 1 functions; the limit is 100000");
        assert!(said[1].starts_with("has a function of weight 2 (branches") && said[1].contains("2000000"));
        assert!(
            said[2].starts_with("has functions of total weight 3 (branches") && said[2].contains("100000000")
        );
        // 100,001 functions of a type that does not exist.
        let many = with(MODULE, &[(3, &[0xa1, 0x8d, 0x06])]);
        let refused = read(&with(COMPONENT, &[(1, &many)])).err().map(|reason| reason.to_string());
        assert_eq!(refused.as_deref(), Some("has 100001 functions; the limit is 100000"));
    }
}
