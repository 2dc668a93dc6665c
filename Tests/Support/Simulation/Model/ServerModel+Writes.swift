import AttoATT
import AttoGATT

// The expected effects of writes. Vol 3, Part F, 3.4.5 and 3.4.6.

extension ServerModel {
  /// Executes a command if it is valid.
  func command(_ pdu: [UInt8], _ client: ModelClient, _ answers: ModelAnswers) {
    guard !client.isOutOfSync, pdu.count >= 3 else { return }
    var value = Array(pdu[3...])
    if pdu[0] == 0xD2 {
      guard value.count >= 12, verify(pdu, client) else { return }
      value.removeLast(12)
    }
    var request = ModelRequest(pdu: pdu, client: client, mtu: 0, answers: answers, refusedAt: nil)
    do throws(ModelHalt) {
      try write(number(pdu, 1), value, .writeCommand, &request)
    } catch {}
  }

  private func verify(_ pdu: [UInt8], _ client: ModelClient) -> Bool {
    guard let signing = client.signing, client.security.level == .low else { return false }
    let signature = Array(pdu.suffix(12))
    let counter = UInt32(number(signature, 0)) | UInt32(number(signature, 2)) << 16
    let signed = Array(pdu.dropLast(12))
    guard counter >= signing.counter, counter < .max,
      Signature.compute(over: signed.span.bytes, counter: counter, key: signing.key) == signature
    else { return false }
    client.signing?.counter = counter + 1
    return true
  }

  func write(
    _ handle: UInt16, _ value: [UInt8], _ kind: Question.Kind, _ request: inout ModelRequest
  ) throws(ModelHalt) {
    let index = try writable(handle, &request)
    let client = request.client
    switch rows[index].kind {
    case .constant, .hash: throw .refused(0x03, handle)
    case .stored(let former, let limits):
      if limits.isFixedLength {
        guard value.count <= former.count else { throw .refused(0x0D, handle) }
        store(index, value + former.dropFirst(value.count))
      } else {
        guard value.count <= limits.maximumLength else { throw .refused(0x0D, handle) }
        store(index, value)
      }
    case .application(let limits):
      guard value.count <= limits.maximumLength else { throw .refused(0x0D, handle) }
      if case .refused(let code) = try ask(kind, handle, &request) {
        throw .refused(code.rawValue, handle)
      }
    case .configuration(let offered, _):
      let wanted = try configuration(value, offered, client.configurations[handle] ?? 0, handle)
      client.configurations[handle] = wanted == 0 ? nil : wanted
    case .features: client.features = try features(value, client.features, handle)
    }
  }

  private func configuration(
    _ value: [UInt8], _ offered: UInt16, _ former: UInt16, _ handle: UInt16
  ) throws(ModelHalt) -> UInt16 {
    guard value.count == 1 || value.count == 2 else { throw .refused(0x0D, handle) }
    let wanted = UInt16(value[0]) | (value.count == 2 ? UInt16(value[1]) << 8 : former & 0xFF00)
    guard wanted & ~offered == 0 else { throw .refused(0x13, handle) }
    return wanted
  }

  private func features(
    _ value: [UInt8], _ former: UInt8, _ handle: UInt16
  ) throws(ModelHalt) -> UInt8 {
    guard (1...512).contains(value.count) else { throw .refused(0x0D, handle) }
    guard former & ~value[0] == 0 else { throw .refused(0x13, handle) }
    return value[0] & 7
  }

  func prepareWrite(_ request: inout ModelRequest) throws(ModelHalt) {
    let pdu = request.pdu
    let handle = number(pdu, 1)
    _ = try writable(handle, &request)
    let write = PreparedWrite(
      handle: AttributeHandle(handle), offset: Int(number(pdu, 3)), part: Array(pdu[5...]))
    guard prepare(write, request.client) else { throw .refused(0x09, handle) }
  }

  func executeWrite(_ request: inout ModelRequest) throws(ModelHalt) {
    let client = request.client
    switch request.pdu[1] {
    case 0: drop(client)
    case 1:
      do throws(ModelHalt) {
        try execute(client.queue, &request)
        drop(client)
      } catch {
        if case .refused = error { drop(client) }
        throw error
      }
    default: throw .refused(0x04, 0)
    }
  }

  /// Executes all prepared writes or none: checks everything on copies first.
  private func execute(
    _ writes: [PreparedWrite], _ request: inout ModelRequest
  ) throws(ModelHalt) {
    guard let first = writes.first else { return }
    guard request.client.queueRevision == revision else {
      throw .refused(0x12, first.handle.rawValue)
    }
    let client = request.client
    // Handle, new value, and the end of the last written octet.
    var results: [(handle: UInt16, value: [UInt8], end: Int)] = []
    var asked: UInt16?
    for write in writes {
      let handle = write.handle.rawValue
      guard let index = row(handle) else { throw .refused(0x01, handle) }
      let former: [UInt8]
      var longest = 512
      switch rows[index].kind {
      case .constant, .hash: throw .refused(0x03, handle)
      case .application(let limits):
        guard write.offset <= limits.maximumLength else { throw .refused(0x07, handle) }
        guard write.offset + write.part.count <= limits.maximumLength else {
          throw .refused(0x0D, handle)
        }
        asked = asked ?? handle
        continue
      case .stored(let value, let limits):
        former = value
        longest = limits.isFixedLength ? value.count : limits.maximumLength
      case .configuration:
        former = octets(client.configurations[handle] ?? 0)
        longest = 2
      case .features: former = [client.features]
      }
      let place = results.firstIndex { $0.handle == handle } ?? results.count
      if place == results.count { results.append((handle, former, 0)) }
      var value = results[place].value
      guard write.offset <= value.count else { throw .refused(0x07, handle) }
      let end = write.offset + write.part.count
      guard end <= longest else { throw .refused(0x0D, handle) }
      value.replaceSubrange(write.offset..<min(end, value.count), with: write.part)
      results[place] = (handle, value, max(results[place].end, end))
    }
    for place in results.indices {
      guard let index = row(results[place].handle) else { continue }
      var isFixed = false
      if case .stored(_, let limits) = rows[index].kind { isFixed = limits.isFixedLength }
      if !isFixed { results[place].value = Array(results[place].value.prefix(results[place].end)) }
      let (handle, value, _) = results[place]
      switch rows[index].kind {
      case .configuration(let offered, _):
        _ = try configuration(value, offered, client.configurations[handle] ?? 0, handle)
      case .features: _ = try features(value, client.features, handle)
      default: break
      }
    }
    if let asked, case .refused(let code) = try ask(.execute, asked, &request) {
      throw .refused(code.rawValue, asked)
    }
    for (handle, value, _) in results {
      guard let index = row(handle) else { continue }
      switch rows[index].kind {
      case .configuration(let offered, _):
        let wanted = try configuration(value, offered, client.configurations[handle] ?? 0, handle)
        client.configurations[handle] = wanted == 0 ? nil : wanted
      case .features: client.features = try features(value, client.features, handle)
      default: store(index, value)
      }
    }
  }
}
