"""What happens on nodes: kubelets, nodes that fail, evictions by taint, pods whose node is gone."""
