// Command control-plane is a real Kubernetes in one program: the control plane, the parts of a node and a registry (CP-01, CP-05 to CP-08).
//
// The first argument picks the applet:
//
//	control-plane etcd DIR CLIENT_URL PEER_URL
//	control-plane kube-apiserver FLAGS…
//	control-plane kube-controller-manager FLAGS…
//	control-plane kube-scheduler FLAGS…
//	control-plane kubelet FLAGS…
//	control-plane kube-proxy FLAGS…
//	control-plane coredns -conf COREFILE
//	control-plane kubectl ARGUMENTS…
//	control-plane registry CONFIG.yml
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: control-plane APPLET ARGUMENTS…, with APPLET one of etcd, kube-apiserver, kube-controller-manager, " +
			"kube-scheduler, kubelet, kube-proxy, coredns, kubectl, registry")
	}
	applet := os.Args[1]
	// Cobra reads its arguments from os.Args, so each applet must see only its own.
	os.Args = os.Args[1:]
	switch applet {
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kubelet":
		os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
	case "kube-proxy":
		os.Exit(cli.Run(proxy.NewProxyCommand()))
	case "coredns":
		runCoreDNS()
	case "kubectl":
		os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
	case "etcd":
		runEtcd(os.Args[1:])
	case "registry":
		runRegistry(os.Args[1:])
	default:
		fail("no applet named " + applet)
	}
}

// runEtcd serves one throw-away member: nothing is synced to disk, since no run outlives its directory (CP-03).
func runEtcd(args []string) {
	if len(args) != 3 {
		fail("usage: control-plane etcd DIR CLIENT_URL PEER_URL")
	}
	client, err := url.Parse(args[1])
	check(err)
	peer, err := url.Parse(args[2])
	check(err)
	cfg := embed.NewConfig()
	cfg.Dir = args[0]
	cfg.LogLevel = "error"
	cfg.UnsafeNoFsync = true
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	etcd, err := embed.StartEtcd(cfg)
	check(err)
	check(<-etcd.Err())
}

// runCoreDNS serves the names of Services (CP-07). Only these plugins are compiled in, in the order in which they see a query.
func runCoreDNS() {
	dnsserver.Directives = []string{"bind", "errors", "health", "ready", "cache", "kubernetes"}
	coremain.Run()
}

func runRegistry(args []string) {
	if len(args) != 1 {
		fail("usage: control-plane registry CONFIG.yml")
	}
	file, err := os.Open(args[0])
	check(err)
	cfg, err := configuration.Parse(file)
	check(err)
	server, err := registry.NewRegistry(context.Background(), cfg)
	check(err)
	check(server.ListenAndServe())
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, "control-plane:", text)
	os.Exit(1)
}
