"""Matrices of SPV_NV_cooperative_matrix, which glslc writes, as those of SPV_KHR_cooperative_matrix.

The latter is what most devices have. It gives each matrix a use, and a driver keeps it as its use wants it: NVIDIA 580 turns every
right operand of the former over, each time it is multiplied.

What a type's matrices are used as follows from the products that they take part in, so left operands, right ones and sums must be of
different types. A sum that is converted to halves is stored as such, or becomes an operand: the former keeps its use, the latter takes
SPV_NV_cooperative_matrix2 to change it, which only modules that do so ask for. Shaders count the numbers that a lane holds themselves:
.length() is a constant expression that the extension does not name.
"""
from spirv import HEADER_WORDS, OP_CAPABILITY, OP_TYPE_INT, Refused, instructions

NV_CAPABILITY, KHR_CAPABILITY, CONVERSIONS_CAPABILITY = 5357, 6022, 5431
NV_EXTENSION, KHR_EXTENSION = "SPV_NV_cooperative_matrix", "SPV_KHR_cooperative_matrix"
CONVERSIONS_EXTENSION = "SPV_NV_cooperative_matrix2"
NV_TYPE, NV_LOAD, NV_STORE, NV_MULTIPLY_ADD, NV_LENGTH = range(5358, 5363)
KHR_TYPE, KHR_LOAD, KHR_STORE, KHR_MULTIPLY_ADD = range(4456, 4460)
CONVERT_USE = 5293
OP_EXTENSION, OP_CONSTANT_TRUE, OP_CONSTANT_FALSE, OP_CONSTANT, OP_SPEC_CONSTANT_OP, OP_F_CONVERT = 10, 41, 42, 43, 52, 115
OP_FUNCTION_CALL, OP_STORE, OP_COMPOSITE_CONSTRUCT, OP_COMPOSITE_INSERT, OP_COPY_OBJECT, OP_SELECT, OP_PHI = 57, 62, 80, 82, 83, 169, 245
PASS_ON = (NV_MULTIPLY_ADD, OP_FUNCTION_CALL, OP_STORE, OP_COMPOSITE_CONSTRUCT, OP_COMPOSITE_INSERT, OP_COPY_OBJECT, OP_SELECT,
           OP_PHI)           # what a matrix goes on through, other than to memory
LEFT, RIGHT, SUM = 0, 1, 2   # uses
BY_ROWS, BY_COLUMNS = 0, 1   # layouts in memory
VERSION_AT, BOUND_AT = 1, 3  # in the header; the latter is one more than the largest id
VERSION_OF_CONVERSIONS = 0x00010600


def string_words(string):
    data = string.encode() + b"\0"
    data += b"\0" * (-len(data) % 4)
    return [int.from_bytes(data[at:at + 4], "little") for at in range(0, len(data), 4)]


class Uses:
    """What a module does with its matrices: which types are what, and which conversions become operands."""

    def __init__(self, code):
        types = {operands[0] for op, operands in code if op == NV_TYPE}
        type_of = {operands[1]: operands[0] for _, operands in code if len(operands) > 1 and operands[0] in types}
        self.of_type = {}
        for op, operands in code:
            if op != NV_MULTIPLY_ADD:
                continue
            for use, matrix in zip((LEFT, RIGHT, SUM), operands[2:]):
                if self.of_type.setdefault(type_of[matrix], use) != use:
                    raise Refused("matrices of one type are operands of two kinds: give these different shapes")
        conversions = [operands for op, operands in code if op == OP_F_CONVERT and operands[0] in types]
        if any(self.is_operand(type_of[source]) for _, _, source in conversions):
            raise Refused("an operand is converted: only sums are")
        stored = {operands[1] for op, operands in code if op == NV_STORE}
        passed_on = {matrix for op, operands in code if op in PASS_ON for matrix in operands}
        halves = {result for kind, result, _ in conversions if self.is_operand(kind)}
        if halves & stored & passed_on:
            raise Refused("halves of a sum are stored and are an operand as well: convert the sum twice")
        self.to_operands = halves - stored

    def is_operand(self, kind):
        return self.of_type.get(kind, SUM) != SUM


class Translation:
    """Of one module, instruction by instruction."""

    def __init__(self, words):
        self.header = list(words[:HEADER_WORDS])
        self.out = []
        self.numbers = [self.new_id() for _ in (LEFT, RIGHT, SUM)]  # ids of the constants 0, 1 and 2
        self.is_true = {}   # constants
        self.halves_of = {}  # types of sums in halves, beside those of operands
        code = [(op, list(operands)) for op, operands in instructions(words)]
        self.uses = Uses(code)
        self.converted = {operands[0] for op, operands in code if op == OP_F_CONVERT}
        if self.uses.to_operands:
            self.header[VERSION_AT] = max(self.header[VERSION_AT], VERSION_OF_CONVERSIONS)
        for op, operands in code:
            self.translate(op, operands)
        self.words = tuple(self.header + self.out)

    def new_id(self):
        self.header[BOUND_AT] += 1
        return self.header[BOUND_AT] - 1

    def emit(self, op, *operands):
        self.out += [len(operands) + 1 << 16 | op, *operands]

    def translate(self, op, operands):
        if op == OP_CAPABILITY and operands == [NV_CAPABILITY]:
            self.emit(op, KHR_CAPABILITY)
            if self.uses.to_operands:
                self.emit(op, CONVERSIONS_CAPABILITY)
        elif op == OP_EXTENSION and operands == string_words(NV_EXTENSION):
            self.emit(op, *string_words(KHR_EXTENSION))
            if self.uses.to_operands:
                self.emit(op, *string_words(CONVERSIONS_EXTENSION))
        elif op == NV_TYPE:
            self.declare(*operands)
        elif op == NV_LOAD:
            kind, result, pointer, stride, by_columns, *access = operands
            self.emit(KHR_LOAD, kind, result, pointer, self.layout(by_columns), stride, *access)
        elif op == NV_STORE:
            pointer, matrix, stride, by_columns, *access = operands
            self.emit(KHR_STORE, pointer, matrix, self.layout(by_columns), stride, *access)
        elif op == NV_MULTIPLY_ADD:
            self.emit(KHR_MULTIPLY_ADD, *operands)
        elif op == NV_LENGTH or op == OP_SPEC_CONSTANT_OP and operands[2] == NV_LENGTH:
            raise Refused("the length of a matrix is asked for: divide its numbers by the lanes of a subgroup")
        elif op == OP_F_CONVERT and operands[0] in self.halves_of:
            self.convert(*operands)
        else:
            if op in (OP_CONSTANT_TRUE, OP_CONSTANT_FALSE):
                self.is_true[operands[1]] = op == OP_CONSTANT_TRUE
            self.emit(op, *operands)
            if op == OP_TYPE_INT and operands[1:] == [32, 0]:
                for number, an_id in enumerate(self.numbers):
                    self.emit(OP_CONSTANT, operands[0], an_id, number)

    def layout(self, by_columns):
        return self.numbers[BY_COLUMNS if self.is_true[by_columns] else BY_ROWS]

    def declare(self, kind, component, scope, rows, columns):
        self.emit(KHR_TYPE, kind, component, scope, rows, columns, self.numbers[self.uses.of_type.get(kind, SUM)])
        if self.uses.is_operand(kind) and kind in self.converted:
            self.halves_of[kind] = self.new_id()
            self.emit(KHR_TYPE, self.halves_of[kind], component, scope, rows, columns, self.numbers[SUM])

    def convert(self, kind, result, source):
        if result not in self.uses.to_operands:
            self.emit(OP_F_CONVERT, self.halves_of[kind], result, source)
            return
        rounded = self.new_id()
        self.emit(OP_F_CONVERT, self.halves_of[kind], rounded, source)
        self.emit(CONVERT_USE, kind, result, rounded)


def to_khr(words):
    """The words of the same module."""
    return Translation(words).words
