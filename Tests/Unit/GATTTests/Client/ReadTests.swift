import TestSupport
import AttoATT
import AttoGATT
import Testing

@Suite(.sideBySide) struct ReadCharacteristicValueTests {
  @Test(arguments: [("0b", []), ("0b 00", [0]), ("0b 010203", [1, 2, 3])] as [(String, [UInt8])])
  func reads(response: String, value: [UInt8]) throws {
    #expect(try play(ReadCharacteristicValue(0x0012), "> 0a 1200\n< \(response)") == value)
  }

  /// A value of MTU - 1 octets is a value.
  @Test func fullResponse() throws {
    let value = [UInt8](repeating: 7, count: 22)
    #expect(
      try play(ReadCharacteristicValue(0x0012), "> 0a 1200\n< 0b \(hexText(value))") == value)
  }

  @Test func handleZero() {
    #expect(throws: refused(.readRequest)) {
      try play(ReadCharacteristicValue(0), "> 0a 0000\n< 01 0a 0000 01")
    }
  }

  @Test func everyErrorIsAFailure() {
    for code in UInt8.min...UInt8.max {
      #expect(throws: refusal(.readRequest, 0x0012, ErrorCode(code))) {
        try play(
          ReadCharacteristicValue(0x0012), "> 0a 1200\n< 01 0a 1200 \(hexText([code]))")
      }
    }
  }

  /// H12: at an ATT_MTU of 517 there is room for more octets than a value has.
  @Test func moreThanAValueHas() throws {
    let longest = [UInt8](repeating: 1, count: 512)
    #expect(
      try play(ReadCharacteristicValue(0x0012), mtu: 517, "> 0a 1200\n< 0b \(hexText(longest))")
        == longest)
    #expect(throws: ProcedureError.violation(.valueTooLong(0x0012, 513))) {
      try play(
        ReadCharacteristicValue(0x0012), mtu: 517, "> 0a 1200\n< 0b \(hexText(longest)) 01")
    }
  }

  @Test(arguments: ["0d 00", "13", ""])
  func responseThatIsNone(response: String) {
    #expect(throws: ProcedureError.violation(.incompleteResponse(.readRequest))) {
      try play(ReadCharacteristicValue(0x0012), "> 0a 1200\n< \(response)")
    }
  }
}

@Suite(.sideBySide) struct ReadBlobTests {
  @Test func reads() throws {
    #expect(try play(ReadBlob(0x0012, offset: 22), "> 0c 1200 1600\n< 0d 0102") == [1, 2])
    #expect(try play(ReadBlob(0x0012, offset: 0), "> 0c 1200 0000\n< 0d") == [])
    #expect(try play(ReadBlob(0x0012, offset: 0xFFFF), "> 0c 1200 ffff\n< 0d") == [])
  }

  @Test func moreThanAValueHas() throws {
    #expect(try play(ReadBlob(0x0012, offset: 511), "> 0c 1200 ff01\n< 0d 01") == [1])
    #expect(throws: ProcedureError.violation(.valueTooLong(0x0012, 513))) {
      try play(ReadBlob(0x0012, offset: 511), "> 0c 1200 ff01\n< 0d 0102")
    }
    #expect(throws: ProcedureError.violation(.valueTooLong(0x0012, 65536))) {
      try play(ReadBlob(0x0012, offset: 65535), "> 0c 1200 ffff\n< 0d 01")
    }
  }

  @Test func everyErrorIsAFailure() {
    for code in UInt8.min...UInt8.max {
      #expect(throws: refusal(.readBlobRequest, 0x0012, ErrorCode(code))) {
        try play(
          ReadBlob(0x0012, offset: 2), "> 0c 1200 0200\n< 01 0c 1200 \(hexText([code]))")
      }
    }
  }

  @Test func misuseAndOtherResponses() {
    #expect(throws: refused(.readBlobRequest)) {
      try play(ReadBlob(0, offset: 0), "> 0c 0000 0000\n< 01 0c 0000 01")
    }
    #expect(throws: ProcedureError.violation(.incompleteResponse(.readBlobRequest))) {
      try play(ReadBlob(0x0012, offset: 2), "> 0c 1200 0200\n< 0b 00")
    }
  }
}

@Suite(.sideBySide) struct ReadMultipleTests {
  @Test func reads() throws {
    let output = try play(ReadMultiple([0x0003, 0x0005]), "> 0e 0300 0500\n< 0f 010203")
    #expect(output.octets == [1, 2, 3])
    #expect(!output.mayBeCut)
    let full = [UInt8](repeating: 9, count: 22)
    let cut = try play(ReadMultiple([0x0003, 0x0005]), "> 0e 0300 0500\n< 0f \(hexText(full))")
    #expect(cut.octets == full)
    #expect(cut.mayBeCut)
    let empty = try play(ReadMultiple([0x0003, 0x0003]), "> 0e 0300 0300\n< 0f")
    #expect(empty.octets == [])
  }

  @Test func numberOfHandles() throws {
    for handles in [[], [3]] as [[AttributeHandle]] {
      #expect(throws: ProcedureError.misuse(.handleCount(handles.count, limit: 11))) {
        try play(ReadMultiple(handles), "> 0e")
      }
      #expect(throws: ProcedureError.misuse(.handleCount(handles.count, limit: 11))) {
        try play(ReadMultipleVariable(handles), "> 20")
      }
    }
    let eleven = [AttributeHandle](repeating: 0x0101, count: 11)
    let list = hexText([UInt8](repeating: 1, count: 22))
    _ = try play(ReadMultiple(eleven), "> 0e \(list)\n< 0f")
    // An octet more has no room for a handle more.
    for (mtu, limit) in [(23, 11), (24, 11), (25, 12)] {
      let more = [AttributeHandle](repeating: 0x0101, count: limit + 1)
      let error = ProcedureError.misuse(.handleCount(limit + 1, limit: limit))
      #expect(throws: error) { try play(ReadMultiple(more), mtu: mtu, "> 0e") }
      #expect(throws: error) { try play(ReadMultipleVariable(more), mtu: mtu, "> 20") }
    }
    #expect(throws: refused(.readMultipleRequest)) {
      try play(ReadMultiple([1, 0]), "> 0e 0100 0000\n< 01 0e 0000 01")
    }
    #expect(throws: refused(.readMultipleVariableRequest)) {
      try play(ReadMultipleVariable([1, 0]), "> 20 0100 0000\n< 01 20 0000 01")
    }
  }

  @Test func everyErrorIsAFailure() {
    for code in UInt8.min...UInt8.max {
      #expect(throws: refusal(.readMultipleRequest, 0x0005, ErrorCode(code))) {
        try play(
          ReadMultiple([3, 5]), "> 0e 0300 0500\n< 01 0e 0500 \(hexText([code]))")
      }
      #expect(throws: refusal(.readMultipleVariableRequest, 0x0005, ErrorCode(code))) {
        try play(
          ReadMultipleVariable([3, 5]), "> 20 0300 0500\n< 01 20 0500 \(hexText([code]))")
      }
    }
  }

  @Test func responseThatIsNone() {
    #expect(throws: ProcedureError.violation(.incompleteResponse(.readMultipleRequest))) {
      try play(ReadMultiple([3, 5]), "> 0e 0300 0500\n< 21 0000 0000")
    }
    #expect(throws: ProcedureError.violation(.incompleteResponse(.readMultipleVariableRequest))) {
      try play(ReadMultipleVariable([3, 5]), "> 20 0300 0500\n< 0f 0000 0000")
    }
  }
}

@Suite(.sideBySide) struct ReadMultipleVariableTests {
  @Test func reads() throws {
    let values = try play(
      ReadMultipleVariable([3, 5, 3]), "> 20 0300 0500 0300\n< 21 0200 aabb 0000 0100 cc")
    #expect(values.map(\.handle) == [3, 5, 3])
    #expect(values.map(\.octets) == [[0xAA, 0xBB], [], [0xCC]])
    #expect(values.allSatisfy { !$0.isCut })
  }

  @Test func cutValue() throws {
    let part = hexText([UInt8](repeating: 1, count: 16))
    let values = try play(
      ReadMultipleVariable([3, 5]), "> 20 0300 0500\n< 21 0200 aabb 6400 \(part)")
    #expect(values.map(\.octets.count) == [2, 16])
    #expect(values.map(\.isCut) == [false, true])
    #expect(values.map(\.statedLength) == [2, 100])
  }

  /// H14: the length of a value that was cut proves nothing, however large.
  @Test func lengthPastTheEnd() throws {
    let values = try play(
      ReadMultipleVariable([3, 5]), "> 20 0300 0500\n< 21 0200 aabb ffff 01")
    #expect(values.map(\.octets) == [[0xAA, 0xBB], [1]])
    #expect(values.map(\.isCut) == [false, true])
  }

  @Test func valuesWithoutRoom() throws {
    // 1 + 2 + 18 = 21 octets, then not even room for a whole length field.
    let part = hexText([UInt8](repeating: 1, count: 19))
    let values = try play(
      ReadMultipleVariable([3, 5]), "> 20 0300 0500\n< 21 1300 \(part)")
    #expect(values.map(\.handle) == [3])
    // With room for one, leaving the value out is not excusable.
    let shorter = hexText([UInt8](repeating: 1, count: 18))
    #expect(throws: ProcedureError.violation(.incompleteResponse(.readMultipleVariableRequest))) {
      try play(ReadMultipleVariable([3, 5]), "> 20 0300 0500\n< 21 1200 \(shorter)")
    }
  }

  @Test func moreValuesThanHandles() {
    #expect(throws: ProcedureError.violation(.incompleteResponse(.readMultipleVariableRequest))) {
      try play(ReadMultipleVariable([3, 5]), "> 20 0300 0500\n< 21 0000 0000 0000")
    }
  }

  @Test func moreThanAValueHas() {
    let long = hexText([UInt8](repeating: 1, count: 513))
    #expect(throws: ProcedureError.violation(.valueTooLong(3, 513))) {
      try play(ReadMultipleVariable([3, 5]), mtu: 600, "> 20 0300 0500\n< 21 0102 \(long) 0000")
    }
  }
}
