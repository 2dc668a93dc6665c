import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio
import Glibc

/// The channel of an enhanced bearer on the virtual air: a socket of its own beside the link, with the
/// limits of an L2CAP channel. The loop's thread only.
///
/// A PDU that is longer than the MTU of the peer cannot be sent. One that is longer than the MTU of
/// this end ends the channel, as L2CAP demands (Vol 3, Part A, 3.4.3).
///
/// On a link with a simulated timing all bearers share the pacer of the link. A PDU that arrives when
/// the peer's socket has no room waits here: other bearers go on.
final class AirBearer: Link {
  /// The number of the bearer on its link.
  let number: UInt8
  let peerName: String
  weak var observer: (any LinkObserver)?
  /// The longest PDU that the peer receives.
  private(set) var sendMTU: Int
  private(set) var receiveMTU: Int
  /// Reconfigurations that the peer has not answered.
  var reconfiguring = 0

  private let data: SocketLink
  private let loop: Loop
  // Its user holds the ATT channel too, or it ends.
  private weak var link: AirLink?
  /// PDUs that have arrived and found no room.
  private var late = PDUQueue()
  private var lateTimer: LoopTimer?
  /// PDUs in the pacer.
  private var paced = 0
  private var isClosing = false
  private var loss: LinkError?

  /// - Parameters:
  ///   - sendMTU: the MTU of the peer.
  ///   - receiveMTU: the MTU of this end.
  init(
    _ descriptor: consuming OwnedDescriptor, number: UInt8, sendMTU: Int, receiveMTU: Int,
    of link: AirLink
  ) {
    self.number = number
    self.sendMTU = sendMTU
    self.receiveMTU = receiveMTU
    self.link = link
    loop = link.loop
    peerName = link.peerName
    data = SocketLink(descriptor, peerName: peerName)
  }

  var descriptor: Int32? { isClosing ? nil : data.descriptor }
  var peerProcess: PeerProcess? { link?.peerProcess }
  var radioAddresses: LinkAddresses? { link?.radioAddresses }
  var security: LinkSecurity { link?.security ?? .low }
  var maximumSecurity: SecurityLevel { link?.maximumSecurity ?? .low }
  var enhancedMTU: Int? { min(sendMTU, receiveMTU) }

  func raiseSecurity(to level: SecurityLevel) throws(LinkError) {
    guard let link else { throw LinkError(.raiseSecurity, .closed, endpoint: peerName) }
    try link.raiseSecurity(to: level)
  }

  func setSendBuffer(_ octets: Int32) throws(LinkError) { try data.setSendBuffer(octets) }

  func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome {
    guard pdu.byteCount <= sendMTU else {
      throw LinkError(.send, .system(EMSGSIZE), endpoint: peerName)
    }
    // The peer learns of a reconfiguration beside its PDUs: none may overtake it.
    guard reconfiguring == 0 || isClosing else { return .wouldBlock }
    guard let link, link.raising == nil, !isClosing, let pacer = link.pacer else {
      if link?.raising != nil { return .wouldBlock }
      return try data.send(pdu)
    }
    guard late.isEmpty else { return .wouldBlock }
    let outcome = try pacer.send(pdu, for: self, mps: pacer.mps(ofMTU: sendMTU))
    if outcome == .sent { paced += 1 }
    return outcome
  }

  func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome {
    if let error = loss {
      loss = nil
      throw error
    }
    guard !isClosing else { return .closed }
    let before = buffer.byteCount
    let outcome = try data.receive(into: &buffer)
    guard case .pdu(let whole) = outcome else { return outcome }
    let length = whole ?? buffer.byteCount - before
    guard length <= receiveMTU else {
      buffer.removeLast(buffer.byteCount - before)
      data.disconnect()
      throw LinkError(
        .receive, .pduTooLong(length: length, limit: receiveMTU), endpoint: peerName)
    }
    link?.pacer?.returnCredit()
    return outcome
  }

  func raiseReceiveMTU(to octets: Int) throws(LinkError) {
    guard let link, !link.hasEnded, !isClosing else {
      throw LinkError(.option("MTU"), .closed, endpoint: peerName)
    }
    let octets = min(octets, Int(UInt16.max))
    guard octets > receiveMTU else { return }
    // From here on: the peer may use it as soon as it has received this.
    receiveMTU = octets
    guard link.control.send(.reconfigure(number, mtu: UInt16(octets))) else {
      throw LinkError(.option("MTU"), .system(EPIPE), endpoint: peerName)
    }
    reconfiguring += 1
  }

  /// The peer raises its MTU.
  func reconfigure(mtu: Int) -> AirReconfiguration {
    guard mtu >= EnhancedBearers.minimumMTU else { return .unacceptable }
    guard mtu >= sendMTU else { return .reduced }
    sendMTU = mtu
    return .done
  }

  /// PDUs in the pacer are delivered first.
  func close() {
    guard !isClosing else { return }
    isClosing = true
    finishClosing()
  }

  private func finishClosing() {
    guard isClosing, paced == 0, late.isEmpty else { return }
    lateTimer?.cancel()
    data.close()
  }

  /// Nothing more is delivered. What has arrived can still be received.
  func linkEnded() {
    paced = 0
    late.removeAll()
    lateTimer?.cancel()
    if isClosing { return finishClosing() }
    if let socket = data.descriptor { _ = shutdown(socket, Int32(SHUT_RDWR)) }
    observer?.linkReady(.closed)
  }

  /// A PDU has arrived at the other end.
  func deliver(_ pdu: RawSpan) {
    paced -= 1
    if late.isEmpty, isDelivered(pdu) { return finishClosing() }
    late.append(pdu)
    waitForRoom()
  }

  /// False if the socket has no room. A PDU for a peer that has closed is dropped.
  private func isDelivered(_ pdu: RawSpan) -> Bool {
    do throws(LinkError) {
      return try data.send(pdu) == .sent
    } catch {
      return true
    }
  }

  private func waitForRoom() {
    guard lateTimer == nil, let interval = link?.pacer?.interval else { return }
    lateTimer = LoopTimer(after: .nanoseconds(interval), on: loop) { [weak self] in
      guard let self else { return }
      lateTimer = nil
      while late.withFirst({ self.isDelivered($0) }) ?? false { late.removeFirst() }
      guard late.isEmpty else { return waitForRoom() }
      finishClosing()
      observer?.linkReady(.writable)
    }
  }
}
