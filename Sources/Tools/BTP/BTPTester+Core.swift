import AttoCommandLine
import AttoRadio

extension BTPService {
  /// auto-pts, doc/btp_core.txt.
  static let coreCommands = [
    BTPCommandSupport(0x01, "Read Supported Commands"),
    BTPCommandSupport(0x02, "Read Supported Services"),
    BTPCommandSupport(0x03, "Register Service"),
    BTPCommandSupport(0x04, "Unregister Service"),
    BTPCommandSupport(0x05, "Log Message"),
    BTPCommandSupport(0x06, "Read BTP MTU"),
  ]
}

extension BTPTester {
  /// The Core service.
  func core(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8] {
    switch command.opcode {
    case 0x02:
      try parameters.end()
      return BTPService.supportedServices
    case 0x03:
      let service = BTPService(rawValue: try parameters.number())
      try parameters.end()
      guard let service, registered.insert(service).inserted else { throw .fail }
      return []
    case 0x04:
      let service = BTPService(rawValue: try parameters.number())
      try parameters.end()
      // Without Core nothing could be registered again.
      guard let service, service != .core, registered.remove(service) != nil else { throw .fail }
      unregistered(service)
      return []
    case 0x05:
      let text = try parameters.value()
      try parameters.end()
      Terminal.note("tester: \(String(decoding: text, as: UTF8.self))")
      return []
    case 0x06:
      try parameters.end()
      return UInt16(BTPFrame.longest).octets(2)
    default: throw .unknownCommand
    }
  }

  /// Ends what only this service can end.
  private func unregistered(_ service: BTPService) {
    switch service {
    case .gap:
      stopAdvertising()
      stopDiscovery()
    case .l2cap: endL2CAP()
    case .core, .gatt, .gattClient, .gattServer: break
    }
  }
}
