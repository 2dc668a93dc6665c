import AttoATT
import AttoSMP
import TestSupport
import Testing

/// An image of MCUboot with its hash, as imgtool makes it without a key.
func signedImage(_ count: Int, version: UInt8 = 1, fill: UInt8 = 0x5A) -> [UInt8] {
  var octets: [UInt8] = octets("3DB8F396 00000000 2000 0000")
  octets += (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
  octets += [0, 0, 0, 0, version, 2, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0]
  octets += [UInt8](repeating: fill, count: count)
  let hash = SHA256.hash(octets[...])
  return octets + [0x07, 0x69, 40, 0, 0x10, 0, 32, 0] + hash
}

@Suite(.sideBySide) struct FirmwareImageTests {
  @Test func read() throws {
    let octets = signedImage(1000)
    let image = try FirmwareImage(octets)
    #expect(image.version.description == "1.2.3+4")
    #expect(image.hash == SHA256.hash(octets[..<1032]))
    #expect(image.fileHash == SHA256.hash(octets[...]))
  }

  @Test func refused() {
    let octets = signedImage(100)
    for count in 0..<32 {
      #expect(throws: FirmwareImage.Fault.noImage) {
        try FirmwareImage(Array(octets.prefix(count)))
      }
    }
    for count in 32..<octets.count {
      #expect(throws: FirmwareImage.Fault.self) { try FirmwareImage(Array(octets.prefix(count))) }
    }
    // Each octet that the hash covers, and those that lead to it.
    for index in 0..<octets.count {
      var changed = octets
      changed[index] ^= 0xFF
      #expect(throws: FirmwareImage.Fault.self, "octet \(index)") { try FirmwareImage(changed) }
    }
    #expect(throws: FirmwareImage.Fault.noImage) {
      try FirmwareImage([UInt8](repeating: 0xFF, count: 5000))
    }
  }

  /// FIPS 180-4, examples of NIST; and lengths around the ends of blocks, whose hashes are those of
  /// Python's hashlib.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 55),
      "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"
    ),
    (
      String(repeating: "a", count: 56),
      "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"
    ),
    (
      String(repeating: "a", count: 63),
      "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"
    ),
    (
      String(repeating: "a", count: 64),
      "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"
    ),
    (
      String(repeating: "a", count: 1000),
      "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"
    ),
  ])
  func hashes(text: String, hash: String) {
    #expect(SHA256.hash(Array(text.utf8)[...]) == octets(hash))
  }
}

@Suite(.sideBySide) struct FirmwareUploadTests {
  /// A device as MCUmgr's image group behaves, with faults.
  struct Device {
    var received: [UInt8] = []
    var hash: [UInt8] = []
    var length = 0
    var requests = 0
    /// Of a hundred requests, those that it has no memory for and answers with the offset that it
    /// wants.
    var lossy = 0
    var checks = true

    mutating func answer(_ body: CBOR, _ generator: inout SplitMix64) throws -> CBOR {
      requests += 1
      let offset = Int(try #require(body["off"]?.integer))
      let data = try #require(body["data"]?.octets)
      if offset == 0 {
        let sha = try #require(body["sha"]?.octets)
        if sha != hash { received = [] }
        (hash, length) = (sha, Int(try #require(body["len"]?.integer)))
        if !received.isEmpty {
          return .map(["off": .integer(Int64(received.count)), "rc": .integer(0)])
        }
      }
      if offset == received.count, Int.random(in: 0..<100, using: &generator) >= lossy {
        received += data
      }
      var answer: [String: CBOR] = ["off": .integer(Int64(received.count))]
      if received.count == length, checks {
        answer["match"] = .boolean(SHA256.hash(received[...]) == hash)
      }
      return .map(answer)
    }
  }

  /// Uploads until it ends, or until this many requests are answered.
  private func run(
    _ upload: inout FirmwareUpload, _ device: inout Device, window: Int, longest: Int,
    until limit: Int = .max,
    _ generator: inout SplitMix64
  ) throws {
    var queue: [CBOR] = []
    var answered = 0
    while !upload.isDone, answered < limit {
      while let body = try upload.next() {
        let message = SMPMessage(.write, .upload, sequence: 0, body).encoded
        #expect(message.count <= longest)
        queue.append(try #require(SMPMessage(message)).body)
        #expect(queue.count <= window)
      }
      let next = try #require(queue.isEmpty ? nil : queue.removeFirst())
      try upload.received(device.answer(next, &generator))
      answered += 1
    }
  }

  @Test func whole() throws {
    let image = try FirmwareImage(signedImage(5000))
    var generator = SplitMix64(seed: testSeed())
    for (longest, window) in [(64, 1), (100, 1), (244, 3), (512, 2), (4096, 8), (20000, 1)] {
      var options = FirmwareUpload.Options(longestMessage: longest)
      options.window = window
      var device = Device()
      var upload = FirmwareUpload(image, options)
      if longest == 64 {
        // The length, the hash and the names alone are longer.
        #expect(throws: FirmwareUpload.Fault.tooShort(longestMessage: 64)) { try upload.next() }
        continue
      }
      try run(&upload, &device, window: window, longest: longest, &generator)
      #expect(device.received == image.octets)
      #expect(upload.offset == image.octets.count)
    }
  }

  @Test func lostAndResumed() throws {
    let image = try FirmwareImage(signedImage(20_000))
    var generator = SplitMix64(seed: testSeed())
    for round in 0..<60 {
      let (longest, window) = (
        Int.random(in: 100...600, using: &generator), Int.random(in: 1...8, using: &generator)
      )
      var options = FirmwareUpload.Options(longestMessage: longest)
      options.window = window
      var device = Device()
      device.lossy = round % 10
      var links = 0
      while device.received.count < image.octets.count {
        var upload = FirmwareUpload(image, options)
        try run(
          &upload, &device, window: window, longest: longest,
          until: .random(in: 1...60, using: &generator), &generator)
        links += 1
        try #require(links < 2000)
      }
      #expect(device.received == image.octets)
    }
  }

  @Test func options() throws {
    let image = try FirmwareImage(signedImage(500))
    var options = FirmwareUpload.Options(longestMessage: 200)
    (options.image, options.onlyUpgrade) = (3, true)
    var upload = FirmwareUpload(image, options)
    let first = try #require(try upload.next())
    #expect(first["image"] == .integer(3))
    #expect(first["upgrade"] == .boolean(true))
    #expect(first["len"] == .integer(Int64(image.octets.count)))
    #expect(try upload.next() == nil)
    try upload.received(.map(["off": .integer(Int64(first["data"]?.octets?.count ?? 0))]))
    let second = try #require(try upload.next())
    #expect(second["image"] == nil && second["len"] == nil && second["sha"] == nil)
  }

  @Test func hostile() throws {
    let image = try FirmwareImage(signedImage(500))
    func answers(_ body: CBOR) throws {
      var upload = FirmwareUpload(image, FirmwareUpload.Options(longestMessage: 200))
      _ = try upload.next()
      try upload.received(body)
    }
    for body: CBOR in [
      .map([:]), .null, .map(["off": .integer(-1)]), .map(["off": .integer(.max)]),
      .map(["off": .text("0")]),
      .map(["off": .integer(Int64(image.octets.count) + 1)]),
    ] {
      #expect(throws: FirmwareUpload.Fault.badOffset) { try answers(body) }
    }
    #expect(throws: SMPRefusal.self) { try answers(.map(["rc": .integer(10)])) }
    #expect(throws: SMPRefusal.self) {
      try answers(.map(["err": .map(["group": .integer(1), "rc": .integer(27)])]))
    }
    #expect(throws: FirmwareUpload.Fault.wrongHash) {
      try answers(.map(["off": .integer(Int64(image.octets.count)), "match": .boolean(false)]))
    }
    // An answer to nothing.
    var upload = FirmwareUpload(image, FirmwareUpload.Options(longestMessage: 200))
    #expect(throws: FirmwareUpload.Fault.badOffset) {
      try upload.received(.map(["off": .integer(0)]))
    }
    // The same offset forever.
    var endless = FirmwareUpload(image, FirmwareUpload.Options(longestMessage: 200))
    #expect(throws: FirmwareUpload.Fault.noProgress(offset: 0)) {
      for _ in 0..<1000 {
        _ = try endless.next()
        try endless.received(.map(["off": .integer(0)]))
      }
    }
    // Forth and back forever.
    var swinging = FirmwareUpload(image, FirmwareUpload.Options(longestMessage: 200))
    #expect(throws: FirmwareUpload.Fault.self) {
      for number in 0..<1000 {
        _ = try swinging.next()
        try swinging.received(.map(["off": .integer(number % 2 == 0 ? 100 : 0)]))
      }
    }
  }

  @Test func refusals() throws {
    let texts = [
      (CBOR.map(["rc": .integer(5)]), "the device refuses: no such entry (error 5)"),
      (
        .map(["err": .map(["group": .integer(1), "rc": .integer(27)])]),
        "the device refuses: its image is newer (group 1, error 27)"
      ),
      (
        .map(["err": .map(["group": .integer(64), "rc": .integer(1)])]),
        "the device refuses: group 64, error 1"
      ),
      (.map(["rc": .integer(.max)]), "the device refuses: error 9223372036854775807"),
    ]
    for (body, text) in texts { #expect(SMPRefusal(in: body)?.description == text) }
    #expect(SMPRefusal(in: .map(["rc": .integer(0)])) == nil)
    #expect(SMPRefusal(in: .map(["rsn": .text("x")])) == nil)
  }
}

@Suite(.sideBySide) struct SMPMessageTests {
  @Test func octetsOfAMessage() throws {
    let message = SMPMessage(.write, .reset, sequence: 7, .map([:]))
    #expect(message.encoded == octets("0A00 0001 0000 07 05 A0"))
    #expect(SMPMessage(message.encoded) == message)
    #expect(SMPMessage(octets("0100 0006 0001 42 00 BF 62 7263 00 FF"))?.body["rc"] == .integer(0))
  }

  @Test func reassembled() throws {
    let message = SMPMessage(
      .readResponse, .images, sequence: 1, .map(["images": .array([.text("a"), .octets([1, 2])])]))
    let encoded = message.encoded
    for part in 1...encoded.count {
      var reassembly = SMPMessage.Reassembly()
      for _ in 0..<2 {
        var found: SMPMessage.Reassembly.Part = .incomplete
        for start in stride(from: 0, to: encoded.count, by: part) {
          #expect(found == .incomplete)
          found = reassembly.add(Array(encoded[start..<min(start + part, encoded.count)]))
        }
        #expect(found == .whole(message))
      }
    }
    var reassembly = SMPMessage.Reassembly()
    #expect(reassembly.add(encoded + [0]) == .malformed)
    #expect(reassembly.add([0x07] + encoded.dropFirst()) == .malformed)
    #expect(reassembly.add(encoded) == .whole(message))
    #expect(reassembly.add([]) == .incomplete)
  }

  @Test func random() {
    var generator = SplitMix64(seed: testSeed())
    for _ in 0..<20_000 {
      let count = Int.random(in: 0...40, using: &generator)
      let octets = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
      if let message = SMPMessage(octets) { #expect(SMPMessage(message.encoded) != nil) }
      var reassembly = SMPMessage.Reassembly()
      for octet in octets { _ = reassembly.add([octet]) }
    }
  }
}
