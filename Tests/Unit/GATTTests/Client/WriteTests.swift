import TestSupport
import AttoATT
import AttoGATT
import Testing

@Suite(.sideBySide) struct WriteValueTests {
  @Test func writes() throws {
    try play(WriteValue(0x0012, value: [1, 2]), "> 12 1200 0102\n< 13")
    try play(WriteValue(0x0012, value: []), "> 12 1200\n< 13")
    let longest = [UInt8](repeating: 5, count: 20)
    try play(WriteValue(0x0012, value: longest), "> 12 1200 \(hexText(longest))\n< 13")
  }

  @Test(arguments: [(23, 20), (64, 61), (515, 512), (517, 512)])
  func longest(mtu: Int, limit: Int) throws {
    let value = [UInt8](repeating: 5, count: limit)
    try play(WriteValue(3, value: value), mtu: mtu, "> 12 0300 \(hexText(value))\n< 13")
    #expect(throws: ProcedureError.misuse(.valueTooLong(limit + 1, limit: limit))) {
      try play(WriteValue(3, value: value + [5]), mtu: mtu, "> 12")
    }
  }

  @Test func handleZero() {
    #expect(throws: refused(.writeRequest)) {
      try play(WriteValue(0, value: [1]), "> 12 0000 01\n< 01 12 0000 01")
    }
  }

  /// A write that was refused has not taken place, and says so.
  @Test func everyErrorIsAFailure() {
    for code in UInt8.min...UInt8.max {
      #expect(throws: refusal(.writeRequest, 0x0012, ErrorCode(code))) {
        try play(WriteValue(0x0012, value: []), "> 12 1200\n< 01 12 1200 \(hexText([code]))")
      }
    }
  }

  @Test(arguments: ["13 00", "19", ""])
  func responseThatIsNone(response: String) {
    #expect(throws: ProcedureError.violation(.incompleteResponse(.writeRequest))) {
      try play(WriteValue(0x0012, value: []), "> 12 1200\n< \(response)")
    }
  }
}

@Suite(.sideBySide) struct SingleStepTests {
  @Test func prepares() throws {
    try play(
      PrepareWrite(0x0012, offset: 0x0201, part: [1, 2]),
      "> 16 1200 0102 0102\n< 17 1200 0102 0102")
    try play(PrepareWrite(0x0012, offset: 0xFFFF, part: []), "> 16 1200 ffff\n< 17 1200 ffff")
  }

  @Test(arguments: [
    "17 1300 0100 aa", "17 1200 0200 aa", "17 1200 0100 ab", "17 1200 0100", "17 1200 0100 aaaa",
  ])
  func echoThatDiffers(echo: String) {
    #expect(throws: ProcedureError.violation(.echoMismatch(0x0012, offset: 1))) {
      try play(PrepareWrite(0x0012, offset: 1, part: [0xAA]), "> 16 1200 0100 aa\n< \(echo)")
    }
  }

  @Test func misuse() {
    #expect(throws: ProcedureError.misuse(.valueTooLong(19, limit: 18))) {
      try play(PrepareWrite(1, offset: 0, part: [UInt8](repeating: 0, count: 19)), "> 16")
    }
    #expect(throws: refused(.prepareWriteRequest)) {
      try play(PrepareWrite(0, offset: 0, part: []), "> 16 0000 0000\n< 01 16 0000 01")
    }
  }

  @Test func executes() throws {
    try play(ExecuteWrite(.write), "> 18 01\n< 19")
    try play(ExecuteWrite(.cancel), "> 18 00\n< 19")
    try play(ExecuteWrite(ExecuteWriteRequest(flags: 0x80)), "> 18 80\n< 19")
  }

  @Test func everyErrorIsAFailure() {
    for code in UInt8.min...UInt8.max {
      let error = hexText([code])
      #expect(throws: refusal(.prepareWriteRequest, 0x0012, ErrorCode(code))) {
        try play(
          PrepareWrite(0x0012, offset: 0, part: []), "> 16 1200 0000\n< 01 16 1200 \(error)")
      }
      #expect(throws: refusal(.executeWriteRequest, 0x0012, ErrorCode(code))) {
        try play(ExecuteWrite(.write), "> 18 01\n< 01 18 1200 \(error)")
      }
    }
  }

  @Test func responseThatIsNone() {
    #expect(throws: ProcedureError.violation(.incompleteResponse(.prepareWriteRequest))) {
      try play(PrepareWrite(0x0012, offset: 0, part: []), "> 16 1200 0000\n< 17 1200")
    }
    #expect(throws: ProcedureError.violation(.incompleteResponse(.executeWriteRequest))) {
      try play(ExecuteWrite(.write), "> 18 01\n< 19 00")
    }
  }
}
