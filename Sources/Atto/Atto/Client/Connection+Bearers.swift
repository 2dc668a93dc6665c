import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

extension Connection {
  /// A bearer of a connection.
  public struct BearerInformation: Equatable, Sendable {
    /// 0 for the unenhanced bearer. Numbers of enhanced bearers begin with 1 and are not used twice.
    public let number: Int
    /// ATT_MTU now.
    public let mtu: Int
  }
}

extension Connection {
  /// Raises the longest PDU that this end receives on its enhanced bearers
  /// (L2CAP_CREDIT_BASED_RECONFIGURE_REQ, Vol 3, Part A, 4.27). ATT_MTU of a bearer grows to what its
  /// peer receives; with a request in flight, when it next receives a longer PDU. ``bearers`` has the
  /// results.
  ///
  /// An MTU is never reduced: a bearer whose MTU is as large already stays as it is.
  ///
  /// - Parameter octets: 64 to 65535.
  /// - Throws: `link` if a bearer cannot be reconfigured, the error that ended the connection, and
  ///   `cancelled`.
  public func raiseBearerMTU(to octets: Int) async throws(AttoError) {
    precondition(
      (ConnectionOptions.minimumEnhancedMTU...65535).contains(octets), "an MTU of 64 to 65535")
    let failure: AttoError? = try await onLoop { core in
      if let end = core.end { return end }
      do throws(LinkError) {
        for bearer in core.bearers?.enhanced ?? [] {
          bearer.buffer.grow(capacity: octets + 1)
          try bearer.link.raiseReceiveMTU(to: octets)
          if bearer.session.bearer.awaitedRequest == nil { bearer.updateMTU() }
        }
        return nil
      } catch {
        return .link(error)
      }
    }
    if let failure { throw failure }
  }

  /// The open bearers: the unenhanced one, and the enhanced ones in the order in which they were
  /// opened.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var bearers: [BearerInformation] {
    get async throws(AttoError) {
      try await onLoop { core in
        (core.bearers?.all ?? [core]).map {
          BearerInformation(number: Int($0.session.number), mtu: $0.session.bearer.mtu)
        }
      }
    }
  }

  /// Why there are no enhanced bearers although ``ConnectionOptions/enhancedBearers`` asks for them;
  /// nil if they were opened or not asked for.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var bearerObstacle: AttoError.BearerObstacle? {
    get async throws(AttoError) { try await onLoop { $0.bearerObstacle } }
  }

  /// Opens enhanced bearers. Vol 3, Part G, 5.3 and 5.4.
  ///
  /// Both ends may open bearers at the same time, and each may refuse for lack of resources because
  /// its own request is under way. So a refusal is followed by one more attempt; there is no other.
  ///
  /// - Parameters:
  ///   - more: how many, as far as the options allow; nil: all that they ask for.
  ///   - retryDelay: the pause before it. A central needs none; a peripheral waits at least 100 ms, or
  ///     2 * (latency + 1) connection intervals if that is longer, and a random time more.
  /// - Throws: the error that ended the connection. Everything else is a ``bearerObstacle``.
  package func openBearers(
    _ more: Int? = nil, retryDelay: Duration = .zero
  ) async throws(AttoError) {
    do throws(AttoError) {
      let obstacle = try await obstacleToBearers()
      if let obstacle { return try await setObstacle(obstacle) }
      try await onLoop { core in
        core.carriesPeersBearers = true
        if core.bearerAcceptance == nil { core.acceptBearers(carryingProcedures: true) }
      }
      var result = try await requestBearers(more)
      if case .radio(.channelRefused(_, _, let refusal))? = result,
        refusal == .noResources || refusal == .unspecified
      {
        do { try await loop.sleep(for: retryDelay) } catch { throw .cancelled }
        result = try await requestBearers(more)
      }
      try await setObstacle(result)
    } catch {
      try? await onLoop { $0.carriesPeersBearers = false }
      throw error
    }
  }

  private func setObstacle(_ obstacle: AttoError.BearerObstacle?) async throws(AttoError) {
    try await onLoop { core in
      core.carriesPeersBearers = false
      core.bearerObstacle = core.bearerCount > 0 ? nil : obstacle
    }
  }

  /// Negotiates. Returns why there can be no enhanced bearers.
  ///
  /// The link is encrypted for a peer that offers them only: a phone shows a question when it is to be
  /// paired, and drops the link if nobody answers.
  private func obstacleToBearers() async throws(AttoError) -> AttoError.BearerObstacle? {
    var isOffered = try await offersBearers()
    if isOffered == false { return .notOffered }
    if try await security.level < .medium {
      guard try await onLoop({ $0.link.maximumSecurity }) >= .medium else { return .notEncrypted }
      let time = try await onLoop { $0.options.connectTimeout }
      try await raiseSecurity(to: .medium, within: time)
    }
    if isOffered == nil { isOffered = try await offersBearers() }
    guard isOffered == true else { return .notOffered }
    do throws(AttoError) {
      if let own = try await read(uuid: .clientSupportedFeatures).values.first {
        var features = own.octets.isEmpty ? [0] : own.octets
        features[0] |= ClientSupportedFeatures.enhancedBearer.rawValue
        if features != own.octets { try await write(features, to: own.handle) }
      }
    } catch {
      // The feature is an announcement; the channels are what matters.
      guard case .refused = error else { throw error }
    }
    return nil
  }

  /// Whether the Server Supported Features of the peer have the bit; nil if the link is not secure
  /// enough to read them.
  private func offersBearers() async throws(AttoError) -> Bool? {
    do throws(AttoError) {
      let features = try await read(uuid: .serverSupportedFeatures).values.first?.octets.first
      return features.map { $0 & 0x01 != 0 } ?? false
    } catch {
      switch error {
      case .insufficientSecurity: return nil
      case .refused(let response):
        return response.code.isForWantOfSecurity ? nil : false
      default: throw error
      }
    }
  }

  /// Requests the bearers that are missing, or so many of them.
  private func requestBearers(_ more: Int?) async throws(AttoError) -> AttoError.BearerObstacle? {
    try await withWaiter { (core, waiter: Waiter<AttoError.BearerObstacle?, AttoError>) in
      if let end = core.end { return waiter.resume(.failure(end)) }
      let options = core.options
      let most = min(options.enhancedBearers, ConnectionOptions.maximumEnhancedBearers)
      let count = min(more ?? most, most - core.bearerCount)
      guard count > 0 else { return waiter.resume(.success(nil)) }
      options.bearerSource.open(
        core.link, count, options.channelMTU, core.loop, options.connectTimeout
      ) { result in
        switch result {
        case .success(let links):
          for link in links { core.addBearer(link, carryingProcedures: true) }
          waiter.resume(.success(nil))
        case .failure(let error):
          if let end = core.end { return waiter.resume(.failure(end)) }
          waiter.resume(.success(.radio(error)))
        }
      }
    }
  }
}
