//===- Options.td - The command line of tilewright ----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each option says which subcommands know it, its help text and its group. Help.cpp
// shows them by group, Options.h holds what they are parsed to.
//
//===----------------------------------------------------------------------===//

include "llvm/Option/OptParser.td"

// The subcommands; Options.cpp gives each its bit.
def MainVis : OptionVisibility;
def CompileVis : OptionVisibility;
def RunVis : OptionVisibility;
def BenchVis : OptionVisibility;
def TuneVis : OptionVisibility;
def ExplainVis : OptionVisibility;
def EmulateVis : OptionVisibility;

defvar everywhere = [MainVis, CompileVis, RunVis, BenchVis, TuneVis, ExplainVis, EmulateVis];
defvar compiled = [CompileVis, RunVis, BenchVis, ExplainVis];
defvar problems = compiled # [TuneVis];
defvar inputs = [RunVis, BenchVis, TuneVis];

class Named<string text> : OptionGroup<text> { string HelpText = text; }

def problem_group : Named<"PROBLEM: a file of IR, or these options">;
def compile_group : Named<"COMPILER">;
def input_group : Named<"INPUT: tensors from files, or random ones">;
def tuning_group : Named<"TUNING">;
def size_group : Named<"SIZES">;
def emulation_group : Named<"EMULATION">;
def debugger_group : Named<"DEBUGGER: shows every stop and reads commands from stdin">;
def result_group : Named<"RESULT">;
def general_group : Named<"GENERAL">;

class Switch<string name, string help, OptionGroup group, list<OptionVisibility> subcommands>
    : Flag<["--"], name>, HelpText<help>, Group<group>, Visibility<subcommands>;

// An option with a value, as `--name value` or `--name=value`.
multiclass Value<string name, string value, string help, OptionGroup group,
                 list<OptionVisibility> subcommands, list<HelpTextVariant> helpElsewhere = []> {
  def NAME : Separate<["--"], name>, MetaVarName<value>, HelpText<help>, Group<group>,
             Visibility<subcommands> {
    let HelpTextsForVariants = helpElsewhere;
  }
  def NAME#_eq : Joined<["--"], name#"=">, Alias<!cast<Option>(NAME)>, Group<group>,
                 Visibility<subcommands>;
}

defm head_dim : Value<"head-dim", "D[,DV]", "width of queries and keys, and of values (default: D)",
                      problem_group, problems>;
defm dtype : Value<"dtype", "TYPE", "of queries, keys and values: f64, f32 (default), f16 or bf16",
                   problem_group, problems>;
defm out_dtype : Value<"out-dtype", "TYPE", "of the output: that of the inputs (default), or f32",
                       problem_group, problems>;
defm mask : Value<"mask", "EXPR", "what is visible, 'k <= q'; repeatable, masks are and-ed",
                  problem_group, problems>;
defm score : Value<"score", "EXPR", "new score from s, 's + 0.5 * b'; repeatable, applied in order",
                   problem_group, problems>;
defm preset : Value<"preset", "NAME[=VALUE]",
                    "mask or score from the table below; VALUE is its first scalar",
                    problem_group, problems>;
defm scalar : Value<"scalar", "NAME=VALUE", "declare and set a scalar: 5 is an i32, 5.0 a real",
                    problem_group, problems>;
defm tensor : Value<"tensor", "NAME=FILE[:ENTRY]",
                    "declare and load a tensor; NAME=f32[?,?] declares it without values",
                    problem_group, problems>;
defm scale : Value<"scale", "X", "factor of the scores; default 1/sqrt(D), used when a kernel runs",
                   problem_group, problems>;

defm from : Value<"from", "STAGE",
                  "what FILE holds: attn (default), tile or vector, and for a GPU attn, tile, "
                  "sm, nvvm or ptx", compile_group, compiled>;
defm target : Value<"target", "NAME", "what to compile for: cpu (default) or sm_90a", compile_group, problems>;
defm cpu : Value<"cpu", "NAME", "processor by LLVM's name (haswell, x86-64); default: this machine",
                 compile_group, compiled>;
defm schedule : Value<"schedule", "FIELDS",
                      "choices of your own: 'block_q=64,block_kv=96', for a GPU 'stages=3' too, "
                      "for a CPU 'vectors=3,rows=4'",
                      compile_group, compiled>;
defm tuning : Value<"tuning", "FILE", "measured schedules that tune wrote (default: $TILEWRIGHT_TUNING_FILE, or this user's)",
                    compile_group, problems,
                    [HelpTextVariant<[TuneVis], "where the winner is written (default: $TILEWRIGHT_TUNING_FILE, or this user's file)">]>;
defm ptxas : Value<"ptxas", "PATH", "NVIDIA's assembler (default: where it is usually found)", compile_group,
                   problems>;
def remarks : Switch<"remarks", "print what the compiler decided, and why, to stderr",
                     compile_group, [CompileVis, RunVis]>;

defm emit : Value<"emit", "STAGE", "attn, tile, vector, llvm, asm, obj (default) or header; for sm_90a attn, tile, sm, nvvm, "
                                   "llvm, ptx, cubin or sass (default: a kernel image)", result_group,
                  [CompileVis]>;
defm name : Value<"name", "NAME", "what the C functions of an object begin with (default: the name of "
                                 "-o's file, or attention)", result_group, [CompileVis]>;
def print_pipeline : Switch<"print-pipeline",
                            "print the passes as tilewright-opt replays them, and nothing else",
                            result_group, [CompileVis]>;

defm q : Value<"q", "FILE[:ENTRY]", "queries: a safetensors or .npy file, and which entry of it",
               input_group, inputs>;
defm k : Value<"k", "FILE[:ENTRY]", "keys", input_group, inputs>;
defm v : Value<"v", "FILE[:ENTRY]", "values", input_group, inputs>;
defm layout : Value<"layout", "ORDER",
                    "of the tensors' dimensions: bhtd (default) or bthd; t is the position",
                    input_group, inputs>;
defm random : Value<"random", "B,Hq,Hkv,Tq,Tk", "normal numbers for these extents instead of files",
                    input_group, inputs>;

defm seconds : Value<"seconds", "S", "how long all timed runs take together (default 10)", tuning_group, [TuneVis]>;
defm candidates : Value<"candidates", "N", "how many schedules to time, the default among them (default 12)", tuning_group,
                        [TuneVis]>;

defm lengths : Value<"lengths", "Tq,Tk", "numbers of queries and keys", size_group, [ExplainVis]>;
defm batch : Value<"batch", "B", "batch size (default 1)", size_group, [ExplainVis]>;
defm heads : Value<"heads", "Hq[,Hkv]", "numbers of query and key heads (default 1)", size_group,
                   [ExplainVis]>;

defm launch : Value<"launch", "FILE", "grid, block, tensors, tensor maps and arguments, as JSON",
                    emulation_group, [EmulateVis]>;
defm seeds : Value<"seeds", "N", "how many schedules to try, one for each seed (default 1)",
                   emulation_group, [EmulateVis]>;
defm budget : Value<"budget", "N", "warp instructions until a kernel is endless (default 200000000)",
                    emulation_group, [RunVis, EmulateVis]>;
def emulate : Flag<["--"], "emulate">, MetaVarName<"[=SEEDS]">, Group<emulation_group>, Visibility<[RunVis]>,
              HelpText<"run a GPU's kernel on the CPU under so many schedules, and look for races">;
def emulate_eq : Joined<["--"], "emulate=">, Group<emulation_group>, Visibility<[RunVis]>;

defm break : Value<"break", "LINE", "stop before the instructions of this line; repeatable",
                   debugger_group, [EmulateVis]>;
def step : Switch<"step", "stop before the first instruction", debugger_group, [EmulateVis]>;
defm warp : Value<"warp", "N", "stop this warp of each block only", debugger_group, [EmulateVis]>;
defm print : Value<"print", "WHAT",
                   "instead of commands: r12, f[0..7], smem[0..63] or barriers; repeatable",
                   debugger_group, [EmulateVis]>;

def output : Separate<["-"], "o">, MetaVarName<"FILE">, Group<result_group>,
             HelpText<"where the result goes; - is stdout">,
             HelpTextForVariants<[RunVis], "write o and lse to .safetensors, or o alone to .npy">,
             Visibility<[CompileVis, RunVis]>;
def check : Switch<"check", "compare with the f64 reference; exit 1 past the tolerance",
                   result_group, [RunVis]>;
def json : Switch<"json", "print one line of JSON instead of the report", result_group,
                  [RunVis, BenchVis, TuneVis, EmulateVis]>;

defm seed : Value<"seed", "N", "of the random numbers (default 0)", general_group,
                  [RunVis, BenchVis, TuneVis, EmulateVis],
                  [HelpTextVariant<[EmulateVis], "of the first schedule (default 1)">]>;
defm threads : Value<"threads", "N", "threads to use (default: as many as the machine has)",
                     general_group, [RunVis, BenchVis, TuneVis, EmulateVis],
                     [HelpTextVariant<[TuneVis, EmulateVis], "that a kernel, or the emulator, uses (default 1)">]>;
def help : Switch<"help", "show this text", general_group, everywhere>;
def help_short : Flag<["-"], "h">, Alias<help>, Visibility<everywhere>;
def version : Switch<"version", "show the versions of Tilewright and LLVM, and the build id",
                     general_group, [MainVis]>;
